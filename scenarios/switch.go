package scenarios

import "fmt"

// Switch is written on or off.
type Switch bool

// String is the text form.
func (s Switch) String() string {
	if s {
		return "on"
	}
	return "off"
}

// MarshalText writes the text form.
func (s Switch) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the text form. true and false are refused: they belong to fields that are no switches.
func (s *Switch) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on":
		*s = true
	case "off":
		*s = false
	case "true", "yes":
		return fmt.Errorf("%q is not on or off; did you mean on?", text)
	case "false", "no", "none":
		return fmt.Errorf("%q is not on or off; did you mean off?", text)
	default:
		return fmt.Errorf("%q is not on or off", text)
	}
	return nil
}
