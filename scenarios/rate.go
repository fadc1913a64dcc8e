package scenarios

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is an offered load: bits a second ("9gbit"), packets a second ("250kpps"), or neither, which is
// written "unpaced" for traffic.rate and "off" for max_pacing_rate. Units are decimal, as tc(8) has them.
type Rate struct {
	BitsPerSecond    float64
	PacketsPerSecond float64
}

// Units of rates, largest first.
var (
	bitUnits    = []unit{{"tbit", 1e12}, {"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}
	packetUnits = []unit{{"gpps", 1e9}, {"mpps", 1e6}, {"kpps", 1e3}, {"pps", 1}}
	rateUnits   = append(append([]unit{}, bitUnits...), packetUnits...)
)

// Unpaced tells whether the rate sets no limit.
func (r Rate) Unpaced() bool { return r.BitsPerSecond == 0 && r.PacketsPerSecond == 0 }

// String is the text form.
func (r Rate) String() string {
	switch {
	case r.BitsPerSecond != 0:
		return formatUnit(r.BitsPerSecond, bitUnits)
	case r.PacketsPerSecond != 0:
		return formatUnit(r.PacketsPerSecond, packetUnits)
	}
	return "unpaced"
}

// MarshalText writes the text form.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the text form.
func (r *Rate) UnmarshalText(text []byte) error {
	if s := string(text); s == "unpaced" || s == "off" {
		*r = Rate{}
		return nil
	}
	v, u, hint := parseRate(string(text), rateUnits)
	if u == nil {
		return fmt.Errorf("%q is not a rate; write bits a second such as 100mbit or 9gbit, packets a second such as 250kpps, or unpaced%s", text, hint)
	}
	if strings.HasSuffix(u.name, "pps") {
		*r = Rate{PacketsPerSecond: v}
	} else {
		*r = Rate{BitsPerSecond: v}
	}
	return nil
}

// parseRate reads a number above 0 with one of the units. Without success the unit is nil and hint ends the
// caller's sentence: a suggestion, or nothing.
func parseRate(text string, units []unit) (v float64, u *unit, hint string) {
	number, u, err := splitUnit(text, units)
	switch {
	case err != nil:
		return 0, nil, suggestUnit(text, units)
	case u == nil:
		return 0, nil, "; it has no unit"
	}
	v, err = strconv.ParseFloat(number, 64)
	if v *= u.factor; err != nil || v <= 0 || math.IsInf(v, 0) {
		return 0, nil, "; it must be above 0"
	}
	return v, u, ""
}

// formatUnit writes v with the largest unit that gives at most three decimals and reads back as v exactly,
// else with the smallest unit and all its digits.
func formatUnit(v float64, units []unit) string {
	for _, u := range units {
		if v < u.factor {
			continue
		}
		number := strconv.FormatFloat(v/u.factor, 'f', -1, 64)
		_, decimals, _ := strings.Cut(number, ".")
		if back, err := strconv.ParseFloat(number, 64); err == nil && len(decimals) <= 3 && back*u.factor == v {
			return number + u.name
		}
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + units[len(units)-1].name
}
