package report

import (
	"fmt"
	"strings"

	"bondrepro/reproducer/result"
)

// Matrix is the table of a matrix for people: one line a cell, so that kernels stand below each other for each scenario and
// setting; then what is not GOOD or BAD and why, and last how many there are of each.
func Matrix(r result.MatrixReport) string {
	var b strings.Builder
	lines := [][]string{{"scenario", "setting", "kernel", "verdict", "dropped", "diagnosis"}}
	for _, c := range r.Cells {
		lines = append(lines, []string{c.Scenario, c.Setting, c.Kernel, matrixVerdict(c), matrixDropped(c), orDash(c.Diagnosis)})
	}
	columns(&b, lines, 4)
	b.WriteByte('\n')
	var reasons []string
	missing := map[string][]string{} // ids by reason
	for _, c := range r.Cells {
		if c.Missing == "" {
			continue
		}
		if missing[c.Missing] == nil {
			reasons = append(reasons, c.Missing)
		}
		missing[c.Missing] = append(missing[c.Missing], c.ID)
	}
	for _, reason := range reasons {
		wrap(&b, "missing: ", strings.Join(missing[reason], " ")+": "+reason)
	}
	for _, c := range r.Cells {
		switch {
		case c.Double():
			wrap(&b, "double: ", c.ID+": "+doubleText(c))
		case c.Missing == "" && c.Verdict == result.Inconclusive:
			wrap(&b, "cannot tell: ", c.ID+": "+c.Reason)
		}
	}
	for _, w := range r.Warnings {
		wrap(&b, "warning: ", w.Text)
	}
	b.WriteString(matrixSum(r) + "\n")
	return b.String()
}

func matrixVerdict(c result.MatrixCell) string {
	switch {
	case c.Missing != "":
		return "MISSING"
	case c.Contradicts():
		return "DOUBLE"
	case c.Verdict == result.Bad:
		return because(word(c.Verdict), string(c.Cause))
	}
	return word(c.Verdict)
}

func matrixDropped(c result.MatrixCell) string {
	if c.Dropped == nil {
		return absent
	}
	return number(*c.Dropped)
}

// doubleText names the files of a cell that was measured more than once, each with its verdict.
func doubleText(c result.MatrixCell) string {
	texts := make([]string, len(c.Files))
	for i, file := range c.Files {
		texts[i] = fmt.Sprintf("%s in %s", word(c.Verdicts[i]), file)
	}
	text := strings.Join(texts, ", ")
	if c.Contradicts() {
		return text + ": no one answer"
	}
	return text + ": the table shows the first"
}

// matrixSum counts the cells by what the table says of them.
func matrixSum(r result.MatrixReport) string {
	var missing, double int
	count := map[result.Verdict]int{}
	for _, c := range r.Cells {
		switch {
		case c.Missing != "":
			missing++
		case c.Contradicts():
			double++
		default:
			count[c.Verdict]++
		}
	}
	text := fmt.Sprintf("%s: %d GOOD, %d BAD, %d CANNOT TELL", result.Plural(len(r.Cells), "cell"), count[result.Good], count[result.Bad], count[result.Inconclusive])
	for _, more := range []struct {
		n    int
		what string
	}{{double, "DOUBLE"}, {missing, "MISSING"}} {
		if more.n > 0 {
			text += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	return text
}

func orDash(s string) string {
	if s == "" {
		return absent
	}
	return s
}

// columns sets the lines as a table, one column (numbers) right and the others left.
func columns(b *strings.Builder, lines [][]string, right int) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], len([]rune(text)))
		}
	}
	for _, line := range lines {
		var row strings.Builder
		for i, text := range line {
			pad := strings.Repeat(" ", widths[i]-len([]rune(text)))
			if i == right {
				row.WriteString(pad + text + "  ")
			} else {
				row.WriteString(text + pad + "  ")
			}
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
}
