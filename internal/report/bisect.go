package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bondrepro/reproducer/result"
)

// Bisect is what a bisect found, for people: the steps, what was skipped and why, both sides of the culprit with their
// evidence, how sure it is, and last the culprit.
func Bisect(r result.BisectReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "bisect %s of %s: %s, %s, %s\n", r.Kind, r.Scenario, result.Plural(len(r.Steps), "step"), result.Plural(r.Boots, "boot"), seconds(r.TookS))
	section(&b, "steps")
	lines := [][]string{}
	for i, s := range r.Steps {
		lines = append(lines, []string{fmt.Sprintf("  %d", i+1), roles[s.Role], s.Outcome, bootsText(s), clip(s.Name, 60)})
	}
	columns(&b, lines, -1)
	bisectSkipped(&b, r)
	bisectEvidence(&b, r)
	if len(r.Warnings) > 0 {
		section(&b, "warnings")
		for _, w := range r.Warnings {
			wrap(&b, "  "+w.Code+": ", w.Text)
		}
	}
	section(&b, "confidence")
	wrap(&b, "  ", fmt.Sprintf("The symptom (%s) showed in %.0f %% of the boots of the bad end, in %.0f %% at least; so %s make a step good.",
		r.Diagnosis, 100*r.Rate, 100*r.RateLow, result.Plural(r.StepRuns, "clean boot")))
	if r.Culprit == "" {
		bisectUnclear(&b, r)
		return b.String()
	}
	wrap(&b, "  ", fmt.Sprintf("That the culprit is another than the one named below has a probability of %.2g at most (asked for: %.2g).", r.Wrong, 1-r.Confidence))
	for _, c := range r.Confirmed {
		wrap(&b, "  - ", c)
	}
	fmt.Fprintf(&b, "\n%s: %s\n", firstOf(r), culpritText(r))
	return b.String()
}

// roles are the steps' roles as people read them.
var roles = map[string]string{
	"bad-end": "bad end", "good-end": "good end", "step": "step", "confirm": "good side", "culprit": "bad side", "reverted": "reverted",
}

// bootsText counts a step's boots by what they showed.
func bootsText(s result.BisectStep) string {
	count := map[result.Verdict]int{}
	others := 0
	for _, t := range s.Trials {
		if t.Other {
			others++
			continue
		}
		count[t.Verdict]++
	}
	var parts []string
	for _, v := range []result.Verdict{result.Bad, result.Good, result.Inconclusive} {
		if n := count[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word(v)))
		}
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("%d BAD for another reason", others))
	}
	if s.Reused > 0 {
		parts = append(parts, fmt.Sprintf("%d of the same image", s.Reused))
	}
	return orDash(strings.Join(parts, ", "))
}

func bisectSkipped(b *strings.Builder, r result.BisectReport) {
	skipped := slices.DeleteFunc(slices.Clone(r.Steps), func(s result.BisectStep) bool { return s.Outcome != "skipped" })
	if len(skipped) == 0 {
		return
	}
	section(b, "skipped")
	for _, s := range skipped {
		wrap(b, "  ", s.Name+":")
		wrap(b, "    ", strings.SplitN(s.Why, "\n", 2)[0])
	}
}

// bisectEvidence sets a boot of each side of the culprit side by side.
func bisectEvidence(b *strings.Builder, r result.BisectReport) {
	good, bad := sideTrial(r, "good"), sideTrial(r, "bad")
	if good == nil || bad == nil {
		return
	}
	section(b, "evidence")
	lines := [][]string{{"  a boot of each side", "good", "bad"}}
	for _, name := range result.TrialMetrics {
		lines = append(lines, []string{"  " + name, trialMetric(good, name), trialMetric(bad, name)})
	}
	align(b, lines)
	for _, t := range []*result.Trial{good, bad} {
		wrap(b, fmt.Sprintf("  %-4s ", t.Verdict), because(t.Reason, t.File))
	}
}

// sideTrial is the last boot with that verdict of that side of the culprit; nil where there is none.
func sideTrial(r result.BisectReport, verdict string) *result.Trial {
	culpritSide := "bad"
	if r.FindFix {
		culpritSide = "good"
	}
	for i := len(r.Steps) - 1; i >= 0; i-- {
		s := &r.Steps[i]
		culprit := s.ID == r.Culprit
		beside := s.Role == "confirm" || s.Role == "culprit" // what was booted because it is right before the culprit
		if culprit != (culpritSide == verdict) || !culprit && !beside {
			continue
		}
		for k := len(s.Trials) - 1; k >= 0; k-- {
			if string(s.Trials[k].Verdict) == verdict {
				return &s.Trials[k]
			}
		}
	}
	return nil
}

func trialMetric(t *result.Trial, name string) string {
	v, ok := t.Metrics[name]
	if !ok {
		return absent
	}
	return fmt.Sprintf("%.6g", v)
}

func bisectUnclear(b *strings.Builder, r result.BisectReport) {
	fmt.Fprintf(b, "\n%s could not be told; it is one of:\n", firstOf(r))
	for _, id := range r.Candidates {
		fmt.Fprintf(b, "  %s\n", id)
	}
}

// firstOf is what is looked for, as git bisect says it.
func firstOf(r result.BisectReport) string {
	what, kind := "commit", "bad"
	if r.Kind == "packages" {
		what = "kernel"
	}
	if r.FindFix {
		kind = "good"
	}
	return fmt.Sprintf("first %s %s", kind, what)
}

// culpritText names a commit by its whole hash and its subject, a kernel by its name.
func culpritText(r result.BisectReport) string {
	if r.Kind == "packages" {
		return r.Name
	}
	_, subject, _ := strings.Cut(r.Name, " ")
	return r.Culprit + " " + subject
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

// clip shortens a name of one line.
func clip(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
