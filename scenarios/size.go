package scenarios

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Size is a number of bytes (or segments), written 212992, 64KiB, 64MiB, or off for 0. In JSON it is a plain number.
type Size int64

// sizeUnits are what a size may end in, largest first.
var sizeUnits = []unit{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// String is the text form: whole MiB and GiB with their unit, all else in bytes.
func (s Size) String() string {
	if s == 0 {
		return "off"
	}
	for _, u := range sizeUnits[:2] {
		if n := int64(u.factor); int64(s)%n == 0 {
			return strconv.FormatInt(int64(s)/n, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText writes the text form.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the text form.
func (s *Size) UnmarshalText(text []byte) error {
	if string(text) == "off" {
		*s = 0
		return nil
	}
	number, u, err := splitUnit(string(text), sizeUnits)
	if err != nil || u == nil && !isInteger(number) {
		return fmt.Errorf("%q is not a size; write a number of bytes, one with KiB, MiB, GiB, kB, MB or GB, or off%s", text, suggestUnit(string(text), sizeUnits))
	}
	factor := int64(1)
	if u != nil {
		factor = int64(u.factor)
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && n <= math.MaxInt64/factor && n >= math.MinInt64/factor {
		*s = Size(n * factor)
		return nil
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v*float64(factor) != math.Trunc(v*float64(factor)) {
		return fmt.Errorf("%q is not a whole number of bytes", text)
	}
	if v = v * float64(factor); math.Abs(v) >= 1<<62 {
		return fmt.Errorf("%q is too large", text)
	}
	*s = Size(v)
	return nil
}

// MarshalJSON writes the number of bytes; 0 is off.
func (s Size) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(s), 10), nil }

// UnmarshalJSON reads a number of bytes or the text form.
func (s *Size) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		data = []byte(text)
	}
	return s.UnmarshalText(data)
}
