package report

import (
	"fmt"
	"strings"

	"bondrepro/reproducer/result"
)

// flood is said of every run on real ports.
const flood = "switches send multicast that nobody asked them for out of every port: whatever hangs on the same VLAN gets this load, too"

// portTexts are the ports, one line each.
func portTexts(ports []result.Port) []string {
	var lines []string
	for _, p := range ports {
		words := []string{kindOf(p)}
		if p.SpeedMbit > 0 {
			words = append(words, fmt.Sprintf("%d Mbit/s", p.SpeedMbit))
		}
		if n := len(p.Queues); n > 0 {
			words = append(words, result.Plural(n, "TX queue"))
		}
		words = append(words, p.Device()...)
		if p.Pause != nil && (p.Pause.RX || p.Pause.TX) {
			words = append(words, "flow control on")
		}
		lines = append(lines, p.Name+": "+strings.Join(words, ", "))
	}
	return lines
}

// kindOf is what drives a port.
func kindOf(p result.Port) string {
	if p.Driver == "" {
		return p.Kind
	}
	return p.Driver
}

// weakTexts are what makes a verdict weak here, each with its command where there is one.
func weakTexts(weak []result.Weakness) []string {
	var lines []string
	for _, w := range weak {
		text := w.Text
		if w.Interface != "" && !strings.Contains(text, w.Interface) {
			text = w.Interface + ": " + text
		}
		if w.Command != "" {
			text += ": " + w.Command
		}
		lines = append(lines, text)
	}
	return lines
}
