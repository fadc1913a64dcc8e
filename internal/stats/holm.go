package stats

import "slices"

// Holm corrects the p of several tests (Holm, Scand. J. Stat. 6, 1979): claiming what is below Alpha afterwards, the
// chance of one or more false claims among all is at most Alpha, however the tests depend on each other. The
// answers are in the order of ps, at most 1, and never below the p they come from.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if ps[a] < ps[b] {
			return -1
		}
		if ps[a] > ps[b] {
			return 1
		}
		return 0
	})
	out := make([]float64, len(ps))
	highest := 0.0
	for k, i := range order {
		highest = max(highest, min(1, float64(len(ps)-k)*ps[i]))
		out[i] = highest
	}
	return out
}
