package judge

import (
	"slices"

	"bondrepro/reproducer/result"
)

// ours are the codes of the warnings that Again gives; those of others are kept.
var ours = []string{
	warnFewSamples, warnMissed, warnForeign, warnOverflow, warnNotEvaluated, warnDriverDropped, warnSlowDrain, warnInvalidRuns,
	warnNoControl, warnWeakControl, warnNotProven, warnKernelLog, result.TimestampsHideOrphan,
	warnReceiverMissing, warnReceiverLost, warnReceiverOverflow, warnReceiverMore, warnReceiverDuplicates,
}

// Again judges every recording of r anew and decides. It is also how a Result is judged the first time: fill
// in configuration, host, guest, arms and their recordings, and call it. Judging its answer again gives an
// equal Result. r itself is not changed.
func Again(r result.Result) result.Result {
	arms := slices.Clone(r.Arms)
	for i := range arms {
		a := &arms[i]
		a.Preflight = Preflight(a.Scenario, a.Preflight.Truesize, a.Preflight.Ring)
		a.Runs = slices.Clone(a.Runs)
		for k := range a.Runs {
			a.Runs[k].Judgement = Run(a.Scenario, a.Preflight, a.Runs[k].Recording)
		}
	}
	r.Arms = arms
	var ws []result.Warning
	r.Judgement, ws = Decide(r.Config, arms)
	ws = append(ws, provenance(r.Guest)...)
	for _, w := range r.Warnings {
		if !slices.Contains(ours, w.Code) {
			ws = append(ws, w)
		}
	}
	r.Warnings = once(ws)
	return r
}

// once leaves out what a run's kernel log says where the place it ran in has said it.
func once(ws []result.Warning) []result.Warning {
	if !slices.ContainsFunc(ws, func(w result.Warning) bool { return w.Code == complaints }) {
		return ws
	}
	return slices.DeleteFunc(ws, func(w result.Warning) bool { return w.Code == warnKernelLog })
}
