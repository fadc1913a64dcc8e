// Package report writes results for people and machines. Pure: data in, bytes out, the same for the same data.
package report

import (
	"strconv"
	"strings"
)

// width is the greatest number of columns of a line of ours; lines quoted from tc keep their own.
const width = 100

// wrap writes text after a label, continued below where it began. Words longer than a line stay whole.
func wrap(b *strings.Builder, label, text string) {
	indent := len([]rune(label))
	b.WriteString(label)
	column := indent
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i > 0 && column+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	b.WriteByte('\n')
}

// number writes a count without an exponent.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// because adds a reason in brackets.
func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + " (" + why + ")"
}
