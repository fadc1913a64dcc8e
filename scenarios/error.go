package scenarios

import (
	"fmt"
	"strings"
)

// Error is one thing wrong with a scenario, an assignment or an expression: one sentence, and where it is known
// the source line with a caret under the place.
type Error struct {
	File    string // "" for an assignment or an expression
	Line    int    // counted from 1; 0 when there is no file
	Column  int    // in characters, counted from 1; 0 when the place is not known
	Source  string // the source line, the assignment or the expression
	Path    string // the field, such as traffic.payload; "" when it is about no field
	Message string
}

// Error is "FILE:LINE:COLUMN: PATH: MESSAGE" and, below it, the source line with a caret.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	case e.File != "":
		fmt.Fprintf(&b, "%s: ", e.File)
	}
	if e.Path != "" {
		fmt.Fprintf(&b, "%s: ", e.Path)
	}
	b.WriteString(e.Message)
	if e.Column > 0 {
		source, column := window(e.Source, e.Column)
		fmt.Fprintf(&b, "\n    %s\n    %s^", source, caretPad(source, column))
	}
	return b.String()
}

// window is the part of a long line around the column, and the column in it.
func window(source string, column int) (string, int) {
	const before, width = 100, 160
	runes := []rune(source)
	if len(runes) <= width {
		return source, column
	}
	start := min(max(column-before, 0), len(runes)-width)
	part := string(runes[start : start+width])
	if start > 0 {
		part = "…" + part
		column++
	}
	if start+width < len(runes) {
		part += "…"
	}
	return part, column - start
}

// caretPad is what stands before the caret: blanks, and the source's own tabs so that both lines stay aligned.
func caretPad(source string, column int) string {
	var b strings.Builder
	for _, r := range source {
		if column--; column < 1 {
			break
		}
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	for ; column > 1; column-- {
		b.WriteByte(' ')
	}
	return b.String()
}
