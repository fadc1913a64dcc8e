package stats

import (
	"maps"
	"slices"
)

// Run is one value of a metric, and where it was measured.
type Run struct {
	Value float64
	Boot  int // which boot of a kernel; the same number in both samples is one and the same boot
	At    int // its place in the order of all runs of the comparison, from 1; 0 in all: not known
}

// Unit is what a comparison counts.
type Unit string

// The units.
const (
	Runs  Unit = "runs"
	Boots Unit = "boots"
)

// Sample is one side of a comparison: its units, and what they were made of.
type Sample struct {
	Summary // of the units
	Runs    int
	Boots   int
}

// point is a unit: a run, or a boot with the mean of its runs and their mean place in the order.
type point struct {
	value float64
	at    float64
	boot  int
}

// unitsOf are the values to compare. Runs within a boot share what the boot drew (where memory lies, which core an
// interrupt went to), so they are not independent, and many runs of one boot say little about the next boot.
//
// All runs of both samples from one boot: the runs are the units, and the answer is about that boot. Else each
// boot is one unit, with the mean of its runs; a boot counts as much as another, whatever the number of its runs. With
// as many runs in each boot that is the exact analysis of a nested design (boots as the error term), and it needs no
// estimate of how the variance divides. More runs in a boot lower its noise; only more boots add degrees of freedom.
// Where both samples have runs in the same boots, what they share makes the interval too wide, not too narrow.
func unitsOf(base, other []Run) (b, o []point, unit Unit) {
	b, o = points(base), points(other)
	if len(byBoot(append(slices.Clone(b), o...))) < 2 {
		return b, o, Runs
	}
	return bootMeans(b), bootMeans(o), Boots
}

func points(runs []Run) (ps []point) {
	for _, r := range runs {
		ps = append(ps, point{value: r.Value, at: float64(r.At), boot: r.Boot})
	}
	return ps
}

// byBoot divides ps by their boots, in the order of the boots' numbers.
func byBoot(ps []point) [][]point {
	boots := map[int][]point{}
	for _, p := range ps {
		boots[p.boot] = append(boots[p.boot], p)
	}
	var out [][]point
	for _, boot := range slices.Sorted(maps.Keys(boots)) {
		out = append(out, boots[boot])
	}
	return out
}

func bootMeans(ps []point) (out []point) {
	for _, runs := range byBoot(ps) {
		out = append(out, point{value: momentOf(values(runs)).mean, at: momentOf(places(runs)).mean, boot: runs[0].boot})
	}
	return out
}

func values(ps []point) (vs []float64) {
	for _, p := range ps {
		vs = append(vs, p.value)
	}
	return vs
}

func places(ps []point) (vs []float64) {
	for _, p := range ps {
		vs = append(vs, p.at)
	}
	return vs
}
