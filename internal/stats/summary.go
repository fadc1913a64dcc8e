package stats

import (
	"math"
	"slices"
)

// Interval is a range, both ends in it, in the unit of what it is an interval of. It is at the level Confidence.
type Interval struct {
	Low, High float64
}

// Within tells whether all of i lies in [low, high].
func (i Interval) Within(low, high float64) bool { return low <= i.Low && i.High <= high }

// Summary describes a sample, in the unit of its values.
type Summary struct {
	N        int
	Mean     float64
	SD       float64   // with n-1 below; 0 where N is below 2
	Interval *Interval // of the mean, by Student's t; nil where N is below 2; without width where all values are equal
	Median   float64
	Min, Max float64
}

// Constant tells whether there are at least two values and all are the same. Min and Max decide and not SD, which
// rounding may leave above 0.
func (s Summary) Constant() bool { return s.N > 1 && s.Min == s.Max }

// Summarize describes xs, which keep their order. They have to be finite. All is 0 of none.
func Summarize(xs []float64) Summary {
	if len(xs) == 0 {
		return Summary{}
	}
	s := Summary{N: len(xs), Median: Median(xs), Min: slices.Min(xs), Max: slices.Max(xs)}
	s.Mean, s.SD = meanSD(xs)
	if s.N > 1 {
		half := tLimit(float64(s.N-1)) * s.SD / math.Sqrt(float64(s.N))
		s.Interval = &Interval{s.Mean - half, s.Mean + half}
	}
	return s
}

// meanSD is the mean and the standard deviation of xs, of which there is at least one. Equal values have exactly that
// mean and exactly no deviation.
func meanSD(xs []float64) (mean, sd float64) {
	if slices.Min(xs) == slices.Max(xs) {
		return xs[0], 0
	}
	n := float64(len(xs))
	for _, x := range xs {
		mean += x / n
	}
	var squares, rest float64
	for _, x := range xs {
		d := x - mean
		squares += d * d
		rest += d
	}
	return mean + rest/n, math.Sqrt((squares - rest*rest/n) / (n - 1))
}

// moment is what Welch's test needs of a sample.
type moment struct {
	n        float64
	mean     float64
	variance float64 // of the mean: the sample's variance divided by n
}

func momentOf(xs []float64) moment {
	mean, sd := meanSD(xs)
	n := float64(len(xs))
	return moment{n: n, mean: mean, variance: sd * sd / n}
}

// times is the moment of the sample with every value multiplied by k.
func (m moment) times(k float64) moment {
	return moment{n: m.n, mean: k * m.mean, variance: k * k * m.variance}
}
