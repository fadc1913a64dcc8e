package scenarios

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Senders is how many there are, or auto: as many as stay under the preflight sum, which is known once a packet's
// truesize is.
type Senders int

// AutoSenders is the value that is written auto.
const AutoSenders Senders = 0

// String is the text form.
func (n Senders) String() string {
	if n == AutoSenders {
		return "auto"
	}
	return strconv.Itoa(int(n))
}

// MarshalText writes the text form.
func (n Senders) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText reads the text form.
func (n *Senders) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*n = AutoSenders
		return nil
	}
	v, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil {
		return fmt.Errorf("%q is not a number of senders; write a whole number, or auto%s", text, didYouMean(string(text), []string{"auto"}))
	}
	if v == 0 {
		return fmt.Errorf("0 senders send nothing; write a number from 1 on, or auto")
	}
	*n = Senders(v)
	return nil
}

// MarshalJSON writes a number, or "auto".
func (n Senders) MarshalJSON() ([]byte, error) {
	if n == AutoSenders {
		return []byte(`"auto"`), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// UnmarshalJSON reads a number or the text form.
func (n *Senders) UnmarshalJSON(data []byte) error {
	text := string(data)
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	return n.UnmarshalText([]byte(text))
}
