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
	slices.SortStableFunc(flows, func(x, y result.FlowSpread) int { return strays(y) - strays(x) })
	cells = [][]string{{"  flow", "predicted", "seen"}}
	for _, fl := range flows[:min(flowsShown, len(flows))] {
		cells = append(cells, []string{fmt.Sprintf("  sender %d to %s", fl.Sender, fl.Group), slaveOf(s, fl.Predicted), seen(s, fl)})
	}
	align(b, cells)
	if more := len(flows) - flowsShown; more > 0 {
		fmt.Fprintf(b, "  and %s\n", result.Plural(more, "more flow"))
	}
	wrong := 0
	for _, fl := range flows {
		wrong += strays(fl)
	}
	hash, fits := "the hash", ""
	if s.Older {
		hash, fits = "the hash of "+s.Formula, ", which fits better than that of newer kernels"
	}
	wrap(b, "  ", fmt.Sprintf("%d of %d went where %s puts them%s", len(flows)-wrong, len(flows), hash, fits))
}

// strays is 1 for a flow that went another way than predicted.
func strays(fl result.FlowSpread) int {
	if fl.Strayed(fl.Predicted) {
		return 1
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
