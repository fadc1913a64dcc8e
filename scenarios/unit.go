package scenarios

import (
	"errors"
	"strconv"
	"strings"
)

// unit is a name a number may end in and what it multiplies the number by.
type unit struct {
	name   string
	factor float64
}

// splitUnit parts "64MiB" into "64" and its unit of the table, nil when there is none. The number is a plain
// decimal one, perhaps with a fraction; no exponent, no infinity.
func splitUnit(text string, units []unit) (number string, u *unit, err error) {
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' })
	if end < 0 {
		end = len(text)
	}
	number = text[:end]
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		return "", nil, err
	}
	if end == len(text) {
		return number, nil, nil
	}
	for i := range units {
		if units[i].name == text[end:] {
			return number, &units[i], nil
		}
	}
	return "", nil, errors.New("unknown unit")
}

// isInteger tells whether number has no fraction.
func isInteger(number string) bool { return !strings.Contains(number, ".") }

// suggestUnit is "; did you mean 64MiB?" when text ends in something like a unit of the table.
func suggestUnit(text string, units []unit) string {
	end := strings.LastIndexAny(text, "0123456789") + 1
	if end == 0 || end == len(text) {
		return ""
	}
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.name
	}
	if near := nearest(strings.TrimSpace(text[end:]), names); near != "" {
		return "; did you mean " + text[:end] + near + "?"
	}
	return ""
}
