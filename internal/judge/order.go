package judge

import (
	"fmt"
	"slices"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// crossing is the share of the frames that may come out after a later one of their flow without a remark.
const crossing = 0.01

// outOfOrder finds flows whose packets overtook each other where that is to be expected: in balance-rr, and where a slave
// used several TX queues. A scenario that expects something of wire.crossed speaks for itself.
func (f *facts) outOfOrder(m metrics) (result.Finding, bool) {
	several := f.mode() == "balance-rr" || slices.ContainsFunc(f.slaves, func(s slaveFacts) bool { return s.queuesUsed() > 1 })
	n, all := m.values["wire.crossed"], m.values["wire.frames"] // 0 where they can't be had
	if !several || n == 0 || n <= crossing*all || slices.ContainsFunc(f.sc.Expect, aboutOrder) {
		return result.Finding{}, false
	}
	return finding(result.OutOfOrder, fmt.Sprintf("%.0f of %.0f frames (%s)", n, all, shareText(n/all))), true
}

// aboutOrder tells whether an expectation is about wire.crossed.
func aboutOrder(text string) bool {
	x, err := scenarios.ParseExpr(text)
	return err == nil && slices.Contains(x.Metrics(), "wire.crossed")
}
