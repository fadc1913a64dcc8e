package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bondrepro/reproducer"
	"bondrepro/reproducer/result"
)

// measurer takes the samples of a plan.
type measurer struct {
	bench    Bench
	arms     []Arm
	cases    []result.ComparedCase
	progress func(string)

	samples []result.Sample
	left    map[int]string // cases left out, with the external tool that is not there
	facts   []Facts        // one an arm
	boots   []int          // one an arm
	number  int            // of the last guest booted
	total   int
	began   time.Time
}

// measure takes all samples. A kernel that fails is written down in the samples that it costs, and ends its boot.
func measure(ctx context.Context, bench Bench, arms []Arm, cases []result.ComparedCase, boots []plannedBoot, progress func(string)) (*measurer, error) {
	m := &measurer{bench: bench, arms: arms, cases: cases, progress: progress, began: time.Now(),
		left: map[int]string{}, facts: make([]Facts, len(arms)), boots: make([]int, len(arms))}
	for _, b := range boots {
		m.total += len(b.runs)
	}
	for _, b := range boots {
		if err := m.boot(ctx, b); err != nil {
			return m, err
		}
	}
	return m, m.anyCase()
}

// anyCase is an error where every case lacks its tool.
func (m *measurer) anyCase() error {
	if len(m.left) < len(m.cases) {
		return nil
	}
	return fmt.Errorf("no case can be measured here: %s is not installed where it is to run", m.left[0])
}

// omitted warns of the cases that were left out.
func (m *measurer) omitted() (warnings []result.Warning) {
	for i, k := range m.cases {
		if tool := m.left[i]; tool != "" {
			warnings = append(warnings, result.Warning{Code: "tool-missing",
				Text: fmt.Sprintf("%s was left out: %s is not installed where it is to run.", k.Name, tool)})
		}
	}
	return warnings
}

func (m *measurer) boot(ctx context.Context, b plannedBoot) (err error) {
	place, err := m.bench.Open(ctx, m.arms[b.runs[0].arm])
	if place != nil {
		defer func() { err = errors.Join(err, place.Close()) }()
	}
	var kernel *reproducer.KernelError
	if errors.As(err, &kernel) {
		m.number++
		m.lose(b.runs, m.number, kernel.Reason)
		return nil
	}
	if err != nil {
		return err
	}
	boot := m.enter(place.Facts(), b)
	for i, p := range b.runs {
		if m.left[p.kase] != "" {
			continue
		}
		m.tell(p)
		s, err := place.Sample(ctx, m.arms[p.arm].Name, m.arms[p.arm].Scenarios[p.kase])
		if errors.As(err, &kernel) {
			m.lose(b.runs[i:], boot, kernel.Reason)
			return nil
		}
		if tool := reproducer.LacksTool(err); tool != "" && len(m.cases) > 1 {
			m.left[p.kase] = tool
			continue
		}
		if err != nil {
			return fmt.Errorf("%s%w", inCase(m.arms[p.arm].Name, m.cases[p.kase].Name), err)
		}
		m.add(p, boot, s)
	}
	return nil
}

// enter notes what a place is, and gives its boot a number: a place that nothing was booted for is in the one boot of this machine.
func (m *measurer) enter(facts Facts, b plannedBoot) int {
	boot := 1
	if facts.Guest != nil {
		m.number++
		boot = m.number
	}
	seen := map[int]bool{}
	for _, p := range b.runs {
		if seen[p.arm] {
			continue
		}
		seen[p.arm] = true
		if m.boots[p.arm] == 0 {
			m.facts[p.arm] = facts
		}
		if m.boots[p.arm] == 0 || facts.Guest != nil {
			m.boots[p.arm]++
		}
	}
	return boot
}

func (m *measurer) add(p planned, boot int, s result.Sample) {
	s.Arm, s.Case, s.Boot, s.Warmup = m.arms[p.arm].Name, m.cases[p.kase].Name, boot, p.warmup
	s.At = len(m.samples) + 1
	m.samples = append(m.samples, s)
}

// lose writes down samples that can't be taken.
func (m *measurer) lose(runs []planned, boot int, why string) {
	for _, p := range runs {
		m.add(p, boot, result.Sample{Failure: why})
	}
}

// tell says what is measured now, and about how long the rest takes.
func (m *measurer) tell(p planned) {
	done := len(m.samples)
	text := fmt.Sprintf("run %d of %d: arm %s", done+1, m.total, m.arms[p.arm].Name)
	if name := m.cases[p.kase].Name; name != "" {
		text += ", " + name
	}
	if p.warmup {
		text += " (warm-up)"
	}
	if done >= 2 {
		left := time.Since(m.began) / time.Duration(done) * time.Duration(m.total-done)
		text += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	m.progress(text)
}
