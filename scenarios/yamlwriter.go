package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// yamlWriter writes entries as YAML: groups of groups as blocks, the innermost in braces on one line. The library's
// encoder quotes off and on and breaks every list over lines, so that nothing looks as it was written.
type yamlWriter struct {
	out []byte
	err error
}

// lineWidth is how long a group in braces may become before it is written as a block.
const lineWidth = 100

func (w *yamlWriter) block(fields []entry, indent int) {
	pad := strings.Repeat(" ", indent)
	for _, f := range fields {
		key := pad + w.text(f.name) + ":"
		inner, isGroup := f.value.([]entry)
		if line := w.flow(f.value); !isGroup || len(key)+1+len(line) <= lineWidth && !nested(inner) {
			w.out = append(w.out, key+" "+line+"\n"...)
			continue
		}
		w.out = append(w.out, key+"\n"...)
		w.block(inner, indent+2)
	}
}

// nested tells whether one of the fields is a group itself.
func nested(fields []entry) bool {
	for _, f := range fields {
		if inner, ok := f.value.([]entry); ok && len(inner) > 0 {
			return true
		}
	}
	return false
}

// flow is a value on one line.
func (w *yamlWriter) flow(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case word:
		return string(v)
	case string:
		return w.text(v)
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = w.flow(x)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []entry:
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = w.text(f.name) + ": " + w.flow(f.value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case error:
		w.err = v
		return ""
	}
	w.err = fmt.Errorf("scenarios: %T has no YAML form", value)
	return ""
}

// plainText is what needs no quotes: words that no YAML version takes for a number, a truth or null, with single
// blanks between them.
var plainText = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./+=;()'-]*( [A-Za-z0-9_./+=;()'<>!-]+)*$`)

// plainFigure is what needs none although it begins with a digit: a dotted address, a number with a unit, 802.3ad.
var plainFigure = regexp.MustCompile(`^([0-9]+(\.[0-9]+){2,}|[0-9]+(\.[0-9]+)?(ns|us|ms|s|[kmgt]?bit|[kmg]?pps|[KMG]iB|[kMG]?B)|802\.3ad)$`)

// notText are words that YAML 1.1 or 1.2 reads as something else than text. on and off are our own switches.
var notText = regexp.MustCompile(`(?i)^(null|true|false|yes|no|y|n|\.?nan|\.?inf)$`)

func (w *yamlWriter) text(s string) string {
	if (plainText.MatchString(s) || plainFigure.MatchString(s)) && !notText.MatchString(s) {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // a JSON string is a YAML one
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		w.err = err
	}
	return strings.TrimSuffix(b.String(), "\n")
}
