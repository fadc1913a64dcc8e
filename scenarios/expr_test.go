package scenarios

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseExpr(t *testing.T) {
	var out strings.Builder
	for _, text := range lines(t, "testdata/expr.txt") {
		e, err := ParseExpr(text)
		var asError *Error
		switch {
		case err == nil:
			fmt.Fprintf(&out, "%s\nuses %s\n\n", text, strings.Join(e.Metrics(), ", "))
		case errors.As(err, &asError):
			fmt.Fprintf(&out, "%v\n\n", err)
		default:
			t.Errorf("%s: %v is no *Error", text, err)
		}
	}
	golden(t, "testdata/expr.golden", out.String())
}

func TestEval(t *testing.T) {
	values := map[string]float64{"ok": 10, "eagain": 0, "orphaned": 1, "rate.achieved": 9.5e9, "blocked.share": 0.05, "outq.max": 65536, "drain.ms": 1500}
	for text, want := range map[string][2]bool{ // holds, evaluated
		"ok == 10":                        {true, true},
		"ok != 10":                        {false, true},
		"ok < 10":                         {false, true},
		"ok <= 10":                        {true, true},
		"ok > 9.5":                        {true, true},
		"ok >= 11":                        {false, true},
		"orphaned == true":                {true, true},
		"orphaned != true":                {false, true},
		"rate.achieved >= 9gbit":          {true, true},
		"rate.achieved >= 9.6g":           {false, true},
		"blocked.share >= 5%":             {true, true},
		"outq.max == 64KiB":               {true, true},
		"drain.ms == 1.5s":                {true, true},
		"ok < 0.01k":                      {false, true},
		"ok == 0 and ok == 0 or ok == 10": {true, true},
		"ok == 10 or ok == 0 and ok == 0": {true, true},
		"(ok == 10 or ok == 0) and ok<1":  {false, true},
		"enobufs == 0":                    {false, false},
		"enobufs == 0 and ok == 10":       {false, false},
		"enobufs == 0 and ok == 11":       {false, true},
		"enobufs == 0 or ok == 10":        {true, true},
		"enobufs == 0 or ok == 11":        {false, false},
	} {
		e, err := ParseExpr(text)
		if err != nil {
			t.Error(err)
			continue
		}
		ok, evaluated := e.Eval(func(name string) (float64, bool) { v, ok := values[name]; return v, ok })
		if [2]bool{ok, evaluated} != want {
			t.Errorf("%s: got %v, %v, want %v", text, ok, evaluated, want)
		}
		if e.String() != text {
			t.Errorf("%s is written %s", text, e)
		}
	}
	if ok, evaluated := (Expr{}).Eval(nil); ok || evaluated {
		t.Error("an empty expression holds")
	}
}

func TestExprDepth(t *testing.T) {
	for depth, want := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
		_, err := ParseExpr(strings.Repeat("(", depth) + "ok == 1" + strings.Repeat(")", depth))
		if (err == nil) != want {
			t.Errorf("%d parentheses: %v", depth, err)
		}
	}
}
