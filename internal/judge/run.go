package judge

import (
	"fmt"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Run judges one recording of an arm: guards first, then the built-in rules, then the scenario's expect
// lines. A run with a broken guard is invalid and its verdict inconclusive, whatever else it shows.
func Run(sc scenarios.Scenario, pf result.Preflight, rec result.Recording) result.RunJudgement {
	if why := check(rec); why != "" {
		return result.RunJudgement{
			Verdict: result.Inconclusive,
			Guards:  []result.Guard{{Name: guardFinished, Evidence: why}},
			Ledger:  result.Ledger{Why: "the run did not end"},
			Oracle:  result.Oracle{Why: "the run did not end"},
		}
	}
	f := gather(sc, pf, rec)
	l := ledger(f)
	b := weigh(l, f.dropped())
	o := oracle(f)
	g := guards(f, l, b)
	spread := f.spread()
	m := measured(f, l, b, o, spread)
	j := result.RunJudgement{Valid: broken(g) == nil, Guards: g, Ledger: l, Oracle: o, Metrics: m.values, Expect: expect(sc.Expect, m), Spread: spread}
	bad, cause, accepted := badFindings(f, o, b)
	remarks := append(accepted, notes(f, g, spread, m)...)

	switch fell, left := failed(j.Expect), open(j.Expect, m); {
	case !j.Valid:
		j.Verdict = result.Inconclusive
		j.Diagnosis = append(remarks, unproven(bad)...)
	case len(bad) > 0:
		j.Verdict, j.Cause = result.Bad, cause
		j.Diagnosis = append(bad, remarks...)
	case fell != nil:
		// No mechanism of ours explains it: what was under test is to blame.
		j.Verdict, j.Cause = result.Bad, result.CauseKernel
		if asHashed(spread, j.Expect) {
			j.Cause = result.CauseConfiguration
		}
		j.Diagnosis = append([]result.Finding{finding(result.ExpectationFailed, failure(fell))}, remarks...)
	case o.Available && o.Samples < leastSamples:
		j.Verdict = result.Inconclusive
		j.Diagnosis = append([]result.Finding{finding(result.FewSamples, o.Why)}, remarks...)
	case left != nil:
		j.Verdict = result.Inconclusive
		j.Diagnosis = append([]result.Finding{finding(result.NotEvaluated, fmt.Sprintf("%s: %s", left.Expr, left.Note))}, remarks...)
	default:
		j.Verdict = result.Good
		j.Diagnosis = append([]result.Finding{whyGood(f, j.Expect)}, remarks...)
	}
	return j
}

// unproven says of findings that the run they were made in does not count: a guard failed, which may be why they
// were made.
func unproven(found []result.Finding) []result.Finding {
	for i := range found {
		found[i].Text = "In a run that does not count, so it proves nothing: " + found[i].Text
	}
	return found
}

// badFindings are all mechanisms that make the run BAD, first the one that decides, with its cause; and those that
// the scenario provokes on purpose, which do not.
func badFindings(f *facts, o result.Oracle, b balance) (found []result.Finding, cause result.Cause, accepted []result.Finding) {
	for _, m := range mechanisms {
		fd, c, yes := m(f, o, b)
		switch {
		case !yes:
		case accepts(f.sc, fd.Code):
			fd.Text = "The scenario accepts this: " + fd.Text
			accepted = append(accepted, fd)
		default:
			if len(found) == 0 {
				cause = c
			}
			found = append(found, fd)
		}
	}
	return found, cause, accepted
}
