package judge

import (
	"fmt"
	"strings"

	"bondrepro/reproducer/result"
)

// hashed are the bonding modes that pick a slave by a hash of the packet (Documentation/networking/bonding.rst).
// balance-tlb and balance-alb are none for multicast (see xmithash.Why).
var hashed = map[string]bool{"balance-xor": true, "802.3ad": true}

// notes are findings that explain a run without making it BAD.
func notes(f *facts, g []result.Guard, s *result.Spread, m metrics) []result.Finding {
	var out []result.Finding
	if how, yes := f.slaveChanged(); yes {
		out = append(out, finding(result.SlaveDown, how))
	}
	if ev, yes := f.tooSlow(g); yes {
		out = append(out, finding(result.SenderTooSlow, ev))
	}
	if l := f.lines(); hashed[f.mode()] && len(f.slaves) > 1 && f.flows() > 1 && len(l) == 1 {
		out = append(out, finding(result.OneSlaveHash, fmt.Sprintf("%d flows, %d of %d frames through %s%s", f.flows(), l[0].frames, f.sumFrames(), f.name(l[0].slave), f.hashText(s))))
	}
	if one, yes := f.oneQueue(); yes {
		out = append(out, one)
	}
	if order, yes := f.outOfOrder(m); yes {
		out = append(out, order)
	}
	if n := f.requeues(); n > 0 {
		out = append(out, finding(result.RingStops, fmt.Sprintf("requeues %d", n)))
	}
	return out
}

// flows tells how many flows a hash can tell apart: each sender has its own source port, each group its address.
func (f *facts) flows() int { return len(f.rec.Senders) * max(1, len(f.sc.Traffic.Groups)) }

// tooSlow tells whether line_full failed for no other reason that a guard knows.
func (f *facts) tooSlow(guards []result.Guard) (string, bool) {
	for _, g := range guards {
		switch {
		case g.Name == guardLineFull && g.OK:
			return "", false
		case g.Name != guardLineFull && g.Name != guardLedger && !g.OK:
			return "", false
		}
	}
	l, ok := f.deciding(f.lines())
	if !ok || !l.measured || l.share() > 1 || f.heldBack() != "" && f.blockedShare() > 0.5 {
		return "", false
	}
	return fmt.Sprintf("%s took %s of %s", f.name(l.slave), result.BitRate(l.achieved), result.BitRate(l.rate)), true
}

// whyGood is the finding of a good run.
func whyGood(f *facts, es []result.Expectation) result.Finding {
	if aboutThrottling(f.sc) {
		return throttled(f)
	}
	var values []string
	for _, e := range es {
		if e.Evaluated {
			values = append(values, e.Note)
		}
	}
	if len(values) == 0 {
		return finding(result.ExpectationsHold, "there was none that could be evaluated")
	}
	return finding(result.ExpectationsHold, strings.Join(values, "; "))
}

// throttled is the finding of a good run of a scenario that is about nothing else.
func throttled(f *facts) result.Finding {
	ev := fmt.Sprintf("blocked %.1f %% of the time, ", 100*f.blockedShare())
	if f.eagain+f.hidden > 0 {
		ev += fmt.Sprintf("%d sends refused, ", f.eagain+f.hidden)
	}
	if n := f.driverDropped(); n > 0 {
		return finding(result.NoneFound, ev+fmt.Sprintf("nothing dropped by a qdisc, %d by the driver", n))
	}
	return finding(result.NoneFound, ev+"nothing dropped")
}
