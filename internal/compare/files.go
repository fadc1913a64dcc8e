package compare

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bondrepro/reproducer/result"
)

// File is a stored result: what `compare -o` or `run -o` wrote.
type File struct {
	Name string
	Data []byte
}

// Files compares what is stored, each file's arms in the order of the files. A Result gives one arm: the runs of its test arm that
// count. Errors are one sentence.
func Files(files []File, claims Claims, tool string) (result.Comparison, error) {
	c := result.Comparison{Kind: result.KindComparison, Schema: result.ComparisonSchema, Tool: "bondrepro " + tool, Created: time.Now().UTC(),
		Minimum: claims.Minimum, Order: result.Order{Kind: result.OrderFiles}}
	claims, gates, err := claims.check()
	if err != nil {
		return c, err
	}
	for i, f := range files {
		if slices.ContainsFunc(files[:i], func(other File) bool { return other.Name == f.Name }) {
			return c, fmt.Errorf("%s is named twice: a file compared with itself tells nothing", f.Name)
		}
		part, err := f.read()
		if err != nil {
			return c, err
		}
		if i == 0 {
			c.Scenario, c.Set, c.Cases = part.Scenario, part.Set, part.Cases
			if len(files) == 1 {
				c.Order, c.Calibration, c.CalibrationSamples = part.Order, part.Calibration, part.CalibrationSamples
			}
		} else if c.Cases = common(c.Cases, part.Cases); len(c.Cases) == 0 {
			return c, fmt.Errorf("%s and %s have no case of the same name and workload: such figures can't be compared", files[0].Name, f.Name)
		}
		join(&c, part, f)
	}
	if len(c.Arms) < 2 {
		return c, errors.New("compare: the file holds one arm only: name a second file, or a scenario with --a and --b")
	}
	if err := measurable(c.Cases, claims.names(gates)); err != nil {
		return c, err
	}
	return c, conclude(&c, claims, gates)
}

// common are the cases that both have.
func common(a, b []result.ComparedCase) []result.ComparedCase {
	return slices.DeleteFunc(slices.Clone(a), func(k result.ComparedCase) bool { return !slices.Contains(b, k) })
}

// read makes a comparison of one arm, or of more, of a file.
func (f File) read() (result.Comparison, error) {
	switch kind := result.KindOf(f.Data); kind {
	case "": // a Result
	case result.KindComparison:
		return result.DecodeComparison(f.Name, f.Data)
	default:
		return result.Comparison{}, fmt.Errorf("%s: it holds a %s: name what 'compare -o' or 'run -o' wrote", f.Name, kind)
	}
	r, err := result.Decode(f.Name, f.Data)
	if err != nil {
		return result.Comparison{}, err
	}
	return ofResult(f.Name, r)
}

// ofResult takes the runs of the test arm that count for samples. A Result is one boot.
func ofResult(name string, r result.Result) (result.Comparison, error) {
	c := result.Comparison{Scenario: r.Config.Scenario, Cases: []result.ComparedCase{{Workload: r.Config.Scenario.Workload}}}
	arm := r.Arms[0]
	for i, run := range arm.Runs {
		s := result.Sample{Arm: arm.Name, Boot: 1, At: i + 1, Metrics: run.Judgement.Metrics}
		if !run.Judgement.Valid {
			s.Metrics, s.Failure = nil, invalid(run)
		}
		c.Samples = append(c.Samples, s)
	}
	if len(c.Samples) == 0 {
		return c, fmt.Errorf("%s: it holds no run", name)
	}
	host := r.Host
	c.Arms = []result.ComparedArm{{Name: arm.Name, Settings: r.Config.Set, Testbed: r.Config.Testbed, Host: &host, Guest: r.Guest, Boots: 1}}
	return c, nil
}

// invalid says why a run does not count.
func invalid(run result.Run) string {
	if run.Recording.Failure != "" {
		return run.Recording.Failure
	}
	for _, g := range run.Judgement.Guards {
		if !g.OK && !g.Off {
			return "the guard " + g.Name + " failed: " + g.Evidence
		}
	}
	return "the run is not valid"
}

// join adds the arms of a file, under names that no other arm has. Boots of different files are different ones, unless nothing was
// booted and both are of the same machine and kernel.
func join(c *result.Comparison, part result.Comparison, f File) {
	offset, at := 0, 0
	for _, s := range c.Samples {
		offset, at = max(offset, s.Boot), max(at, s.At)
	}
	if len(c.Arms) > 0 && sameMachine(c.Arms[0], part.Arms[0]) {
		offset = 0
	}
	names := map[string]string{}
	for _, a := range part.Arms {
		name := a.Name
		if len(part.Arms) == 1 {
			name = strings.TrimSuffix(filepath.Base(f.Name), filepath.Ext(f.Name))
		}
		free := name
		for taken := 2; slices.ContainsFunc(c.Arms, func(other result.ComparedArm) bool { return other.Name == name }); taken++ {
			name = fmt.Sprintf("%s-%d", free, taken)
		}
		names[a.Name] = name
		a.Name, a.File = name, f.Name
		c.Arms = append(c.Arms, a)
	}
	for _, s := range part.Samples {
		s.Arm, s.Boot = names[s.Arm], s.Boot+offset
		if s.At > 0 {
			s.At += at
		}
		c.Samples = append(c.Samples, s)
	}
	c.Order.Runs = max(c.Order.Runs, part.Order.Runs)
}

// sameMachine tells whether nothing was booted for two arms and they ran on the same kernel of the same machine, as far as files
// tell.
func sameMachine(a, b result.ComparedArm) bool {
	return a.Guest == nil && b.Guest == nil && a.Testbed != "vm" && a.Testbed == b.Testbed && a.Host != nil && b.Host != nil &&
		a.Host.Kernel == b.Host.Kernel && a.Host.CPU == b.Host.CPU && a.Host.CPUs == b.Host.CPUs
}
