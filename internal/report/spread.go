package report

import (
	"fmt"
	"slices"
	"strings"

	"bondrepro/reproducer/result"
)

// flowsShown is how many flows are listed; those that went another way than predicted come first.
const flowsShown = 16

// spread writes each slave's share and, beside the prediction, where each flow went.
func spread(b *strings.Builder, s *result.Spread) {
	var cells [][]string
	for _, x := range s.Slaves {
		cells = append(cells, []string{"  " + x.Name, fmt.Sprintf("%d frames", x.Frames), fmt.Sprintf("%.1f %%", 100*x.Share)})
	}
	align(b, cells)
	if !s.Predicted {
		wrap(b, "  ", "not predicted: "+s.Why)
		return
	}
	flows := slices.Clone(s.Flows)
	slices.SortStableFunc(flows, func(x, y result.FlowSpread) int { return rank(y) - rank(x) })
	cells = [][]string{{"  flow", "predicted", "seen"}}
	for _, fl := range flows[:min(flowsShown, len(flows))] {
		cells = append(cells, []string{fmt.Sprintf("  sender %d to %s", fl.Sender, fl.Group), slaveOf(s, fl.Predicted), seen(s, fl)})
	}
	align(b, cells)
	if more := len(flows) - flowsShown; more > 0 {
		fmt.Fprintf(b, "  and %s\n", plural(more, "more flow"))
	}
	wrong := 0
	for _, fl := range flows {
		wrong += rank(fl)
	}
	fmt.Fprintf(b, "  %d of %d went where the hash puts them\n", len(flows)-wrong, len(flows))
}

// rank is 1 for a flow that went another way than predicted.
func rank(fl result.FlowSpread) int {
	for i, n := range fl.Seen {
		if n > 0 && i != fl.Predicted {
			return 1
		}
	}
	return 0
}

func slaveOf(s *result.Spread, i int) string {
	if i < 0 || i >= len(s.Slaves) {
		return absent
	}
	return s.Slaves[i].Name
}

// seen lists the slaves a flow came out of, with its frames.
func seen(s *result.Spread, fl result.FlowSpread) string {
	var parts []string
	for i, n := range fl.Seen {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", slaveOf(s, i), n))
		}
	}
	return strings.Join(parts, ", ")
}
