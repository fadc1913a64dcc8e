package kernel

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	debversion "pault.ag/go/debian/version"
)

// record is what we use of a package's control fields: those in a package (deb-control(5)) and those of a package
// system's index (apt-cache(8), show).
type record struct {
	name, version, architecture string
	depends                     []dependency
	// size is of the .deb and unpacked of its files, in bytes; 0 where the fields do not tell.
	size, unpacked int64
	// offered is set where the package system knows where the package can be had.
	offered bool
}

// dependency is the first alternative of what a package needs.
type dependency struct {
	name    string
	version string // where exactly one will do ("= 1.2-3"), else empty
}

// parseRecords reads paragraphs of fields, which empty lines part.
func parseRecords(text []byte) (all []record) {
	for paragraph := range bytes.SplitSeq(text, []byte("\n\n")) {
		if r := parseRecord(string(paragraph)); r.name != "" {
			all = append(all, r)
		}
	}
	return all
}

// parseRecord reads one paragraph. A value goes on in lines that start with a space.
func parseRecord(paragraph string) (r record) {
	for field := range strings.SplitSeq(strings.ReplaceAll(paragraph, "\n ", " "), "\n") {
		name, value, _ := strings.Cut(field, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "Package":
			r.name = value
		case "Version":
			r.version = value
		case "Architecture":
			r.architecture = value
		case "Depends", "Pre-Depends":
			r.depends = append(r.depends, parseDepends(value)...)
		case "Size":
			r.size, _ = strconv.ParseInt(value, 10, 64)
		case "Installed-Size": // in KiB
			r.unpacked, _ = strconv.ParseInt(value, 10, 64)
			r.unpacked <<= 10
		case "Filename":
			r.offered = true
		}
	}
	return r
}

// oneDependency is "NAME:ARCH (= VERSION) [ARCHS]", the parts after the name optional.
var oneDependency = regexp.MustCompile(`^\s*([^\s:(|\[]+)(?::\w+)?\s*(?:\(\s*([<>=]+)\s*([^)\s]+)\s*\))?`)

// parseDepends reads the value of a Depends field.
func parseDepends(value string) (all []dependency) {
	for one := range strings.SplitSeq(value, ",") {
		m := oneDependency.FindStringSubmatch(one)
		if m == nil {
			continue
		}
		d := dependency{name: m[1]}
		if m[2] == "=" {
			d.version = m[3]
		}
		all = append(all, d)
	}
	return all
}

// compareVersions orders versions as dpkg does (deb-version(7)). One that is none comes before all that are.
func compareVersions(a, b string) int {
	va, errA := debversion.Parse(a)
	vb, errB := debversion.Parse(b)
	if errA != nil || errB != nil {
		return btoi(errB != nil) - btoi(errA != nil)
	}
	return debversion.Compare(va, vb)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
