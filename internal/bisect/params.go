package bisect

import (
	"fmt"
	"os"
	"path/filepath"

	"bondrepro/scenarios"
)

// Params are what a bisect was asked for: with the journal's other events they are all that a resumed one needs. Files are
// named by absolute paths.
type Params struct {
	Kind     string             `json:"kind"` // tree, module, packages
	Tool     string             `json:"tool"` // version
	Scenario scenarios.Scenario `json:"scenario"`
	// Good and Bad are the ends, as the space names its points.
	Good string `json:"good"`
	Bad  string `json:"bad"`
	// FindFix: the bad end is the older one, and the point that ends the symptom is looked for.
	FindFix    bool    `json:"find_fix,omitempty"`
	Confidence float64 `json:"confidence"` // of the whole bisect
	// BuiltWith is a hash of what points are built with (config, command, headers): where it changes, results can't be mixed.
	BuiltWith string `json:"built_with,omitempty"`
	QEMU      string `json:"qemu,omitempty"`
	Output    string `json:"output,omitempty"` // file of the report; "": only the one in the folder

	// One of these, by Kind.
	Tree     *TreeOptions    `json:"tree,omitempty"`
	Module   *ModuleOptions  `json:"module,omitempty"`
	Packages *PackageOptions `json:"packages,omitempty"`
}

// old is the end that the history begins with.
func (p Params) old() string {
	if p.FindFix {
		return p.Bad
	}
	return p.Good
}

func (p Params) new() string {
	if p.FindFix {
		return p.Good
	}
	return p.Bad
}

// check refuses what no bisect can be made of.
func (p Params) check() error {
	if !(p.Confidence > 0 && p.Confidence < 1) {
		return &UsageError{Err: fmt.Errorf("--confidence %g: it must lie between 0 and 1, as 0.99", p.Confidence)}
	}
	return nil
}

// UnclearError is a bisect that could not reach an answer, in one sentence: exit code 125. Its journal stays.
type UnclearError struct{ Reason string }

func (e *UnclearError) Error() string { return e.Reason }

// AbsoluteKernel makes a kernel that is named by a file or folder good for any folder a bisect is resumed in; other names
// (deb:PACKAGE, host) stay.
func AbsoluteKernel(spec string) (string, error) {
	if _, err := os.Stat(spec); err != nil {
		return spec, nil
	}
	return filepath.Abs(spec)
}
