package compare

import (
	"context"

	"bondrepro/reproducer/result"
)

// preflights is a Bench that asks each place it opens for the sums of the points.
type preflights struct {
	Bench
	points []Arm
	sums   map[string]result.Preflight
}

func (b *preflights) Open(ctx context.Context, arm Arm) (Place, error) {
	place, err := b.Bench.Open(ctx, arm)
	if err != nil {
		return place, err
	}
	for _, p := range b.points {
		if !p.samePlace(arm) {
			continue
		}
		if sum := place.Preflight(p.Scenarios[0]); sum.Sum > 0 {
			b.sums[p.Name] = sum
		}
	}
	return place, nil
}

const droppedMetric = "slaves.qdisc.dropped"

// crossings find where drops begin along the first parameter, for each value of the second.
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
		for _, p := range s.Points {
			if p.Preflight == nil || second != "" && p.Values[1] != second {
				continue
			}
			known = true
			first(&c.Measured, p, p.Figures[droppedMetric].Max > 0)
			first(&c.Predicted, p, p.Preflight.Exceeds)
			first(&c.Tight, p, p.Preflight.Tight || p.Preflight.Exceeds)
		}
		if known {
			all = append(all, c)
		}
	}
	return all
}
