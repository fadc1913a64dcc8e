package judge

import (
	"fmt"
	"strings"

	"bondrepro/reproducer/result"
)

// Codes of warnings.
const (
	warnFewSamples    = "few-samples"
	warnMissed        = "missed-polls"
	warnForeign       = "foreign-frames"
	warnOverflow      = "receivers-overflowed"
	warnNotEvaluated  = "not-evaluated"
	warnDriverDropped = "driver-dropped"
	warnSlowDrain     = "slow-drain"
	warnInvalidRuns   = "invalid-runs"
	warnNoControl     = "no-control"
	warnWeakControl   = "weak-control"
	warnNotProven     = "module-not-proven"
	warnKernelLog     = "kernel-log"
	// complaints is the warning of whoever watched the kernel's console: it has all that a run's kernel log has.
	complaints = "kernel-complaints"
)

// missedShare is the share of polls that may come too late without a warning.
const missedShare = 0.2

// warnings are about the test arm, the first run that shows one standing for all, and about the control.
func warnings(cfg result.Config, test *result.Arm, j result.Judgement) []result.Warning {
	var out []result.Warning
	if test != nil {
		seen := map[string]bool{}
		for i := range test.Runs {
			for _, w := range runWarnings(&test.Runs[i]) {
				if !seen[w.Code] {
					seen[w.Code] = true
					w.Text = fmt.Sprintf("Run %d: %s", i+1, w.Text)
					out = append(out, w)
				}
			}
		}
		if invalid := len(test.Runs) - j.ValidRuns; invalid > 0 && j.ValidRuns > 0 {
			out = append(out, result.Warning{Code: warnInvalidRuns, Text: fmt.Sprintf("%d of %d runs of the test arm do not count.", invalid, len(test.Runs))})
		}
	}
	switch c := j.Control; {
	case !c.Measured:
		out = append(out, result.Warning{Code: warnNoControl, Text: "Without a positive control nothing shows that BAD would be seen here: " + c.Note + "."})
	case c.Kind == kindQueue:
		out = append(out, result.Warning{Code: warnWeakControl, Text: "The positive control is the weaker one, a short queue: it shows that drops are visible here, not that lost back-pressure is."})
	}
	if bool(cfg.Scenario.Traffic.Socket.TxTimestamping) && j.Verdict == result.Good {
		out = append(out, result.Warning{Code: result.TimestampsHideOrphan,
			Text: "TX timestamping is on, and it hides this fault: a kernel that orphans early (fc6055a5ba31) leaves packets asked for a timestamp alone."})
	}
	return out
}

// runWarnings are those of one run.
func runWarnings(r *result.Run) []result.Warning {
	if check(r.Recording) != "" {
		return nil
	}
	rec, j := &r.Recording, &r.Judgement
	var out []result.Warning
	add := func(code, format string, args ...any) {
		out = append(out, result.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if j.Oracle.Available && j.Oracle.Samples < leastSamples {
		add(warnFewSamples, "%s.", j.Oracle.Why)
	}
	if polls := len(rec.Series.AtMS) + rec.Series.Missed; float64(rec.Series.Missed) > missedShare*float64(polls) {
		add(warnMissed, "%d of %d polls came too late or were interrupted; the machine is overloaded.", rec.Series.Missed, polls)
	}
	if n := j.Metrics["wire.foreign"]; n > 0 {
		add(warnForeign, "%.0f frames at the wire are not of this run: %s.", n, foreignKinds(rec.Wire))
	}
	if n := j.Metrics["wire.overflow"]; n > 0 {
		add(warnOverflow, "The receivers had no room for %.0f datagrams that came out of the lines: they count as arrived, their order and times are not known.", n)
	}
	for _, e := range j.Expect {
		if !e.Evaluated {
			add(warnNotEvaluated, "%q was not evaluated: %s.", e.Expr, e.Note)
		}
	}
	var byDriver uint64
	for i := range rec.Slaves {
		byDriver += rec.After.Slaves[i].TxDropped - rec.Before.Slaves[i].TxDropped
	}
	if byDriver > 0 {
		add(warnDriverDropped, "Slaves' drivers dropped %d packets (tx_dropped).", byDriver)
	}
	if lines := faultLines(rec); len(lines) > 0 {
		add(warnKernelLog, "The kernel reported a fault of its own: %s", strings.Join(lines, " / "))
	}
	if d := rec.Drain; !d.Quiet {
		add(warnSlowDrain, "No quiet within %.0f ms after the last send: %d packets of backlog, %d bytes charged.", d.TookMS, d.Backlog, d.Outq)
	}
	return append(out, receiverWarnings(r)...)
}

func foreignKinds(w *result.Wire) string {
	sum := map[string]uint64{}
	for _, s := range w.Slaves {
		for kind, n := range s.Foreign {
			sum[kind] += n
		}
		if s.Stale > 0 {
			sum["of an earlier run"] += s.Stale
		}
	}
	text := ""
	for _, c := range sorted(sum) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s %d", c.name, c.count)
	}
	return text
}

// provenance warns of modules whose build id was not shown to be that of the file given.
func provenance(g *result.Guest) []result.Warning {
	if g == nil {
		return nil
	}
	var out []result.Warning
	for _, m := range g.Modules {
		if !m.Proven {
			out = append(out, result.Warning{Code: warnNotProven, Text: fmt.Sprintf("Nothing proves that module %s is the one in %s.", m.Name, m.File)})
		}
	}
	return out
}
