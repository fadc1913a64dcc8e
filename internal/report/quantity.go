package report

import (
	"fmt"
	"math"
	"strconv"
)

// scale is how the values of a metric are shown: divided by size, and with a unit.
type scale struct {
	unit string
	size float64
}

// scales are those of a unit, the largest first.
var scales = map[string][]scale{
	"bit/s":  {{"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}, {"bit/s", 1}},
	"byte/s": {{"GB/s", 8e9}, {"MB/s", 8e6}, {"kB/s", 8e3}, {"B/s", 8}}, // of bit/s
	"1/s":    {{"/s", 1}},
	"µs":     {{"µs", 1}},
	"ms":     {{"ms", 1}},
	"s":      {{"s", 1}, {"ms", 1e-3}},
	"s/byte": {{"ns/byte", 1e-9}, {"ps/byte", 1e-12}},
	"share":  {{"%", 0.01}},
	"":       {{"", 1}},
}

// scaleOf is the largest scale of the unit that most is 1 of at least.
func scaleOf(unit string, most float64) scale {
	all, ok := scales[unit]
	if !ok {
		return scale{unit, 1}
	}
	for _, s := range all {
		if math.Abs(most) >= s.size {
			return s
		}
	}
	return all[len(all)-1]
}

// value writes a figure with its unit.
func (s scale) value(v float64) string {
	if s.unit == "" {
		return s.figure(v)
	}
	return s.figure(v) + " " + s.unit
}

// figure writes a figure without its unit: whole numbers whole, others with three decimals, and never fewer than three
// digits that tell something.
func (s scale) figure(v float64) string {
	v /= s.size
	switch {
	case v == math.Trunc(v) && s.size == 1 && math.Abs(v) < 1e15:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case math.Abs(v) >= 1e4:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v != 0 && math.Abs(v) < 0.1:
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// percentage writes a percentage with one decimal, or with more where that would say nothing.
func percentage(v float64) string {
	if a := math.Abs(v); a >= 0.05 || a == 0 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// pText writes a p as lists do: "p < 0.001", "p = 0.087".
func pText(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return fmt.Sprintf("p = %.3f", p)
}

// pCell is a p in a table.
func pCell(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}
