package judge

import (
	"fmt"
	"strconv"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// valueText writes a metric's value in its unit (scenarios.Metric), as it is read and not as it is held: 12.3 ms, 93.6 %,
// 135 Mbit/s, 26. A share that one decimal would make none or all has more of them, for expressions are evaluated unrounded.
func valueText(name string, v float64) string {
	m, _ := scenarios.FindMetric(name)
	switch {
	case m.Bool:
		return strconv.FormatBool(v != 0)
	case m.Unit == "ms":
		return fmt.Sprintf("%.1f ms", v)
	case m.Unit == "share":
		return shareText(v)
	case m.Unit == "bit/s":
		return result.BitRate(v)
	}
	return fmt.Sprintf("%.10g", v) // counts are whole, medians may end in .5
}

// shareText is a share in percent.
func shareText(v float64) string {
	if text := fmt.Sprintf("%.1f %%", 100*v); text != "0.0 %" && text != "100.0 %" {
		return text
	}
	return fmt.Sprintf("%.4g %%", 100*v)
}
