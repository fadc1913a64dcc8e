package acceptance

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bondrepro/reproducer/result"
)

// soak is the record of all cases. Tests run one after the other.
type soak struct {
	where string
	cases []*soakCase
}

// soakCase is one case's line.
type soakCase struct {
	name   string
	want   string
	wall   []time.Duration
	passed int
}

// on notes which machine the results come from.
func (s *soak) on(r *result.Result) {
	if s.where != "" || r.Guest == nil {
		return
	}
	s.where = fmt.Sprintf("Kernel %s (build id %s) in QEMU %s, accelerator %s, %d guest CPUs on %d host CPUs (%s).",
		r.Guest.Kernel, r.Guest.BuildID, r.Host.QEMU, r.Guest.Accelerator, r.Guest.CPUs, r.Host.CPUs, r.Host.CPU)
}

// add notes one attempt at a case and writes the report anew, so that an interrupted soak leaves what it has.
func (s *soak) add(name, want string, wall time.Duration, passed bool) error {
	at := slices.IndexFunc(s.cases, func(c *soakCase) bool { return c.name == name })
	if at < 0 {
		at = len(s.cases)
		s.cases = append(s.cases, &soakCase{name: name, want: want})
	}
	c := s.cases[at]
	c.wall = append(c.wall, wall)
	if passed {
		c.passed++
	}
	if soakReport == "" {
		return nil
	}
	return os.WriteFile(soakReport, []byte(s.text()), 0o644)
}

// text is the report as Markdown.
func (s *soak) text() string {
	var b strings.Builder
	b.WriteString("# The last `make soak`\n\n")
	fmt.Fprintf(&b, "%s\nEach case boots a guest anew. Times are of the whole command, from its start to its exit.\n\n", s.where)
	b.WriteString("| case | must end in | runs | passed | median time | longest |\n|---|---|---:|---:|---:|---:|\n")
	for _, c := range s.cases {
		wall := slices.Sorted(slices.Values(c.wall))
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %.1f s | %.1f s |\n", c.name, c.want, len(wall), c.passed,
			wall[len(wall)/2].Seconds(), wall[len(wall)-1].Seconds())
	}
	return b.String()
}
