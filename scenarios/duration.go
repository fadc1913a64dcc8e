package scenarios

import (
	"fmt"
	"time"
)

// Duration is written as time.ParseDuration reads it: 100ms, 3s.
type Duration time.Duration

// D is the duration as package time has it.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String is the text form.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the text form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the text form.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		if isDigits(string(text)) {
			return fmt.Errorf("%q has no unit; write %sms or %ss", text, text, text)
		}
		return fmt.Errorf("%q is not a duration; write a number and ns, us, ms, s, m or h, such as 100ms or 3s", text)
	}
	*d = Duration(v)
	return nil
}

// isDigits tells whether s is a plain number without sign or fraction.
func isDigits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}
