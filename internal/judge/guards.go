package judge

import (
	"fmt"
	"strings"

	"bondrepro/reproducer/result"
)

// Names of guards. The last two have no switch in a scenario: without them nothing can be said.
const (
	guardLineFull = "line_full"
	guardIntoBond = "into_bond"
	guardSlave    = "slave_stable"
	guardQdisc    = "qdisc_stable"
	guardLedger   = "ledger"
	guardFinished = "finished"
)

const (
	heldBack  = 0.01 // share of the time blocked, or of the sends refused, that counts as held back
	intoShare = 0.99 // of the packets sent must have entered the bond
)

// guards tells for each condition whether it held, with its figures.
func guards(f *facts, l result.Ledger, b balance) []result.Guard {
	g := f.sc.Guards
	out := []result.Guard{
		guard(guardIntoBond, g.IntoBond, f.intoBond),
		guard(guardSlave, g.SlaveStable, steady(f.slaveChanged, "no slave changed state")),
		guard(guardQdisc, g.QdiscStable, steady(f.qdiscReplaced, "no qdisc was replaced")),
		guard(guardLineFull, g.LineFull, f.lineFull),
	}
	switch {
	case !l.Available:
		out = append(out, result.Guard{Name: guardLedger, OK: true, Off: true, Evidence: l.Why})
	case b.even():
		out = append(out, result.Guard{Name: guardLedger, OK: true, Evidence: b.String()})
	case b.confirmed():
		out = append(out, result.Guard{Name: guardLedger, OK: true, Evidence: "the wire confirms the " + b.String()})
	default:
		out = append(out, result.Guard{Name: guardLedger, Evidence: "unconfirmed: " + b.String()})
	}
	return out
}

func guard(name string, on bool, held func() (string, bool)) result.Guard {
	evidence, ok := held()
	return result.Guard{Name: name, OK: ok || !on, Off: !on, Evidence: evidence}
}

// steady turns "it changed, and how" into a guard's question.
func steady(changed func() (string, bool), calm string) func() (string, bool) {
	return func() (string, bool) {
		if how, yes := changed(); yes {
			return how, false
		}
		return calm, true
	}
}

func (f *facts) intoBond() (string, bool) {
	want := f.ok + f.enobufs
	ev := fmt.Sprintf("%d of %d packets entered the bond", f.into, want)
	if want == 0 {
		return "nothing was sent: " + f.refusals(), false
	}
	if f.into == 0 || float64(f.into) < intoShare*float64(want) {
		return fmt.Sprintf("traffic bound past the bond: %s; its slaves' qdiscs sent %d", ev,
			f.sum(func(s *slaveFacts) int64 { return int64(s.diff.Packets) })), false
	}
	return ev, true
}

// refusals lists what sends ended in.
func (f *facts) refusals() string {
	s := fmt.Sprintf("EAGAIN %d", f.eagain)
	for _, e := range sortedErrors(f.rec.Senders) {
		s += fmt.Sprintf(", %s %d", e.name, e.count)
	}
	return s
}

func (f *facts) lineFull() (string, bool) {
	l, ok := f.deciding(f.lines())
	if !ok {
		return "no line carried anything", false
	}
	if !l.measured {
		return fmt.Sprintf("the rate of %s could not be measured: too few readings after warm-up", f.name(l.slave)), false
	}
	tol := f.sc.Guards.LineTolerance
	ev := fmt.Sprintf("%s took %s of %s (%.1f %%)", f.name(l.slave), result.BitRate(l.achieved), result.BitRate(l.rate), 100*l.share())
	if l.share() < 1-tol || l.share() > 1+tol {
		return fmt.Sprintf("%s, not within %.3g %%; senders blocked %.1f %% of the time", ev, 100*tol, 100*f.blockedShare()), false
	}
	held := f.heldBack()
	if held == "" {
		return ev + ", but no sender was blocked or refused and no slave dropped", false
	}
	return ev + "; " + held, true
}

// heldBack tells how the line pushed back; "" when it did not.
func (f *facts) heldBack() string {
	var how []string
	if share := f.blockedShare(); share >= heldBack {
		how = append(how, fmt.Sprintf("senders blocked %.1f %% of the time", 100*share))
	}
	few := int64(heldBack * float64(f.offered()))
	for _, c := range []struct {
		n, more int64
		text    string
	}{{f.eagain, few, "EAGAIN %d"}, {f.enobufs, few, "ENOBUFS %d"}, {f.hidden, few, "short batches %d"}, {f.qdiscDropped(), 0, "slaves dropped %d"}} {
		if c.n > c.more {
			how = append(how, fmt.Sprintf(c.text, c.n))
		}
	}
	return strings.Join(how, ", ")
}

// broken is the first guard that failed; nil when all held.
func broken(guards []result.Guard) *result.Guard {
	for i := range guards {
		if !guards[i].OK {
			return &guards[i]
		}
	}
	return nil
}
