package judge

import (
	"fmt"
	"slices"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// control tells how far the positive control bears the verdict. test is the run of the test arm that it is held
// against; nil when none counts.
func control(cfg result.Config, arm *result.Arm, test *result.Run) result.ControlJudgement {
	switch {
	case arm == nil && cfg.NoControl:
		return result.ControlJudgement{Note: "left out (--no-control)"}
	case arm == nil && len(cfg.Scenario.Control) == 0:
		return result.ControlJudgement{Note: "the scenario has none"}
	case arm == nil || len(arm.Runs) == 0:
		return result.ControlJudgement{Note: "not measured"}
	}
	c := result.ControlJudgement{Measured: true, Kind: controlKind(cfg, arm), Invalid: true}
	for i := range arm.Runs {
		r := &arm.Runs[i]
		if g := broken(r.Judgement.Guards); g != nil {
			if c.Invalid {
				c.Note = fmt.Sprintf("guard %s failed: %s", g.Name, g.Evidence)
			}
			continue
		}
		c.Invalid = false
		if c.Note, c.Bad = shows(c.Kind, arm.Scenario, r, test); c.Bad {
			break
		}
	}
	return c
}

// shows tells whether a run of the control that counts shows what the control is there to show, and by what. It must be
// BAD. A control by netem or by a short queue shows lost packets or lost back-pressure, but where the scenario accepts
// drops. Any control shows that an expectation can fail here, if the expectation held in the test arm.
func shows(kind string, sc scenarios.Scenario, r, test *result.Run) (what string, ok bool) {
	j := &r.Judgement
	loss := kind != kindOther && !acceptsDrops(sc)
	said := fmt.Sprintf("%s: %s", result.Diagnoses[j.Diagnosis[0].Code].Title, j.Diagnosis[0].Evidence)
	switch {
	case j.Verdict != result.Bad && loss:
		return fmt.Sprintf("dropped %.0f, uncharged %s", j.Metrics["slaves.qdisc.dropped"], unchargedText(j.Oracle)), false
	case j.Verdict != result.Bad:
		return said, false
	case loss && (j.Metrics["slaves.qdisc.dropped"] > 0 || j.Oracle.Orphaned):
		if kind == kindQueue {
			return "drops are visible here: " + j.Diagnosis[0].Evidence, true
		}
		return j.Diagnosis[0].Evidence, true
	case test == nil:
		return "no run of the test arm counts that it could be held against: " + said, false
	}
	for i := range j.Expect {
		e := &j.Expect[i]
		if e.Evaluated && !e.OK && slices.Contains(held(test.Judgement.Expect), e.Expr) {
			return failure(e), true
		}
	}
	return "not in what the scenario expects and the test arm holds to: " + said, false
}

// Kinds of control.
const (
	kindNetem = "netem"
	kindQueue = "txqueuelen" // weaker: it shows drops, not the loss of back-pressure
	kindOther = "other"
)

func controlKind(cfg result.Config, arm *result.Arm) string {
	if arm.Scenario.Orphan == scenarios.OrphanNetem {
		return kindNetem
	}
	if arm.Scenario.Topology.Slaves.TxQueueLen < cfg.Scenario.Topology.Slaves.TxQueueLen {
		return kindQueue
	}
	return kindOther
}
