package stats

import (
	"math"
	"slices"
)

// Calibration is what comparing an arm with itself showed, in one metric: the noise of the machine.
type Calibration struct {
	Comparisons int
	Tested      int      // those that have a p
	Seen        int      // of Tested, with an uncorrected p below Alpha: differences that are not there
	Rate        Interval // of the rate of such differences: Clopper and Pearson, level Confidence; 0 to 1 of none tested
	Claimed     int      // of all, with the verdict Higher or Lower
	Floor       float64  // no smaller difference of means is claimed; in the unit of the metric, never negative
	FloorChance float64  // the chance of one above Floor in one more comparison of the arm with itself
}

// MoreThanStated tells whether this machine shows more differences than Alpha allows: more of them than chance gives
// in 1 of 20 calibrations. Then its runs are not independent, and no p of it means what it says.
func (c Calibration) MoreThanStated() bool { return RateLow(c.Seen, c.Tested, Alpha) > Alpha }

// Calibrate sums up comparisons of an arm with itself. Each has to be of runs of its own, as many and in the same order
// of arms as in the comparison that it is for.
//
// Floor is one of the differences seen, by rank: a further one is as likely to come anywhere among k others, so it is
// above the r-th smallest with a chance of at most 1 - r/(k+1), whatever the distribution. r is the smallest for
// which that is at most Alpha, which takes 19 comparisons or more; with fewer Floor is the largest, and FloorChance says
// how little that is.
func Calibrate(cs []Comparison) Calibration {
	cal := Calibration{Comparisons: len(cs), Rate: Interval{0, 1}, FloorChance: 1}
	var sizes []float64
	for _, c := range cs {
		sizes = append(sizes, math.Abs(c.Difference.Value))
		if c.P != nil {
			cal.Tested++
			if c.P.Value < Alpha {
				cal.Seen++
			}
		}
		if c.Verdict == Higher || c.Verdict == Lower {
			cal.Claimed++
		}
	}
	if k := cal.Tested; k > 0 {
		cal.Rate = Interval{RateLow(cal.Seen, k, Alpha/2), 1 - RateLow(k-cal.Seen, k, Alpha/2)}
	}
	if k := len(sizes); k > 0 {
		slices.Sort(sizes)
		r := min(k, int(math.Ceil(Confidence*float64(k+1)-1e-9)))
		cal.Floor, cal.FloorChance = sizes[r-1], 1-float64(r)/float64(k+1)
	}
	return cal
}
