package scenarios

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names are the scenarios that come with the program, in order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the embedded root is always there
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	slices.Sort(names) // a name before those that begin with it
	return names
}

// Load is a scenario that comes with the program, and its file. Files of the user's own (see IsFile) the caller
// reads and gives to Parse.
func Load(name string) (Scenario, []byte, error) {
	src, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return Scenario{}, nil, &Error{Message: fmt.Sprintf("there is no scenario %q%s (there are: %s; a file's name ends in .yaml)",
			name, didYouMean(name, Names()), strings.Join(Names(), ", "))}
	}
	s, err := Parse(name+".yaml", src)
	return s, src, err
}

// IsFile tells whether a scenario argument means a file rather than a scenario that comes with the program: it
// has a slash or ends in .yaml or .yml.
func IsFile(arg string) bool {
	return strings.Contains(arg, "/") || strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")
}
