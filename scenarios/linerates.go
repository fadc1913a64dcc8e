package scenarios

import (
	"encoding/json"
	"fmt"
	"strings"
)

// LineRates holds one line rate for all slaves, or one a slave, in bits a second of layer-2 bytes without
// FCS and inter-packet gap. Auto (written "auto") lets the testbed measure what the sender can do first.
// Text forms: auto, 100mbit, [60mbit, 100mbit].
type LineRates struct {
	Auto          bool
	BitsPerSecond []float64 // one for all, or one a slave; empty when Auto
}

// Of is the line rate of a slave, 0 when it is not known yet (Auto).
func (l LineRates) Of(slave int) float64 {
	switch {
	case len(l.BitsPerSecond) == 0:
		return 0
	case slave < len(l.BitsPerSecond):
		return l.BitsPerSecond[slave]
	}
	return l.BitsPerSecond[0]
}

// String is the text form.
func (l LineRates) String() string {
	if l.Auto {
		return "auto"
	}
	if len(l.BitsPerSecond) == 1 {
		return formatUnit(l.BitsPerSecond[0], bitUnits)
	}
	return "[" + strings.Join(l.texts(), ", ") + "]"
}

func (l LineRates) texts() []string {
	texts := make([]string, len(l.BitsPerSecond))
	for i, v := range l.BitsPerSecond {
		texts[i] = formatUnit(v, bitUnits)
	}
	return texts
}

// plain is the value as YAML and JSON have it: a string or a list of strings.
func (l LineRates) plain() any {
	if l.Auto || len(l.BitsPerSecond) == 1 {
		return l.String()
	}
	return l.texts()
}

// MarshalYAML writes the text form.
func (l LineRates) MarshalYAML() (any, error) { return l.plain(), nil }

// MarshalJSON writes "auto", "100mbit" or a list of such.
func (l LineRates) MarshalJSON() ([]byte, error) { return json.Marshal(l.plain()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (l *LineRates) UnmarshalJSON(data []byte) error {
	var texts []string
	if json.Unmarshal(data, &texts) == nil {
		return l.fromTexts(texts)
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("a line rate is a text or a list of texts: %w", err)
	}
	return l.fromText(text)
}

// fromText reads auto, one rate, or rates joined by commas (as --set writes a list without brackets).
func (l *LineRates) fromText(text string) error {
	if text == "auto" {
		*l = LineRates{Auto: true}
		return nil
	}
	return l.fromTexts(strings.Split(text, ","))
}

func (l *LineRates) fromTexts(texts []string) error {
	rates := make([]float64, len(texts))
	for i, text := range texts {
		text = strings.TrimSpace(text)
		v, u, hint := parseRate(text, bitUnits)
		if u == nil {
			return fmt.Errorf("%q is not a line rate; write bits a second such as 100mbit or 10gbit, a list of them, one a slave, or auto%s", text, hint)
		}
		rates[i] = v
	}
	*l = LineRates{BitsPerSecond: rates}
	return nil
}
