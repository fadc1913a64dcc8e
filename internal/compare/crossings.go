package compare

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// preflights is a Bench whose places are asked for the sum of each point.
type preflights struct {
	Bench
	sums map[string]result.Preflight // by the point's name
}

func (b *preflights) Open(ctx context.Context, arm Arm) (Place, error) {
	place, err := b.Bench.Open(ctx, arm)
	if err != nil {
		return place, err
	}
	return preflighted{place, b}, nil
}

type preflighted struct {
	Place
	*preflights
}

// Sample asks for the sum after a measurement: before the first one of a point nobody knows what its packets are charged with.
func (p preflighted) Sample(ctx context.Context, point string, sc scenarios.Scenario) (result.Sample, error) {
	s, err := p.Place.Sample(ctx, point, sc)
	if err != nil {
		return s, err
	}
	if sum := p.Preflight(sc); sum.Sum > 0 {
		p.sums[point] = sum
	}
	return s, nil
}

const droppedMetric = "slaves.qdisc.dropped"

// crossings find where drops begin along the first parameter, for each value of the second. Points that were not measured tell nothing.
func crossings(s result.Sweep) (all []result.Crossing) {
	seconds := []string{""}
	if len(s.Over) > 1 {
		seconds = s.Over[1].Values
	}
	for _, second := range seconds {
		c := result.Crossing{At: second}
		known := false
		first := func(where *string, p result.SweepPoint, there bool) {
			if there && *where == "" {
				*where = p.Values[0]
			}
		}
		for _, p := range rising(s.Points) {
			dropped, measured := p.Figures[droppedMetric]
			if p.Preflight == nil || !measured || second != "" && p.Values[1] != second {
				continue
			}
			known = true
			first(&c.Measured, p, dropped.Max > 0)
			first(&c.Predicted, p, p.Preflight.Exceeds)
			first(&c.Tight, p, p.Preflight.Tight || p.Preflight.Exceeds)
		}
		if known {
			all = append(all, c)
		}
	}
	return all
}

// rising are the points by the first parameter's value where all are numbers, and as they are otherwise.
func rising(points []result.SweepPoint) []result.SweepPoint {
	at := map[string]float64{}
	for _, p := range points {
		v, err := strconv.ParseFloat(p.Values[0], 64)
		if err != nil {
			return points
		}
		at[p.Values[0]] = v
	}
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b result.SweepPoint) int { return cmp.Compare(at[a.Values[0]], at[b.Values[0]]) })
	return sorted
}
