package stats

import (
	"math"
	"slices"
)

// Trend is the straight line through values over their places in the order of measuring.
type Trend struct {
	Change float64 // from the first place to the last, in the unit of the values
	P      float64 // two-sided, of no slope
}

// trend fits one slope to several groups that each have their own level (an analysis of covariance), and tests it by
// Student's t. It is nil where fewer than three degrees of freedom are left or nothing varies. Only values of one group
// are held against each other, so what differs between groups is not taken for a drift.
func trend(groups [][]point) *Trend {
	var xx, xy, yy float64
	first, last := math.Inf(1), math.Inf(-1)
	df := -1
	for _, g := range groups {
		x, y := momentOf(places(g)), momentOf(values(g))
		for _, p := range g {
			dx, dy := p.at-x.mean, p.value-y.mean
			xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
			first, last = min(first, p.at), max(last, p.at)
		}
		df += len(g) - 1
	}
	if df < 3 || xx == 0 || yy == 0 {
		return nil
	}
	slope := xy / xx
	left := max(0, yy-slope*xy)
	t := slope / math.Sqrt(left/float64(df)/xx)
	return &Trend{Change: slope * (last - first), P: tTwoSided(t, float64(df))}
}

// apart tells whether one sample was measured as a whole before the other.
func apart(base, other []point) bool {
	if len(base) < 2 || len(other) < 2 {
		return false
	}
	b, o := places(base), places(other)
	return slices.Max(b) < slices.Min(o) || slices.Max(o) < slices.Min(b)
}
