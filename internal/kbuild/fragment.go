package kbuild

import _ "embed"

//go:embed fragment.config
var fragment string

// Fragment is the smallest config, in the form of .config, that on top of tinyconfig boots in our machine and
// measures every scenario. All it names is built in.
func Fragment() string { return fragment }
