package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bondrepro/internal/compare"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// made is a comparison in testdata: what was measured, without what follows from it.
type made struct {
	Cases    []result.ComparedCase  `json:"cases"`
	Arms     []result.ComparedArm   `json:"arms"`
	Order    result.Order           `json:"order"`
	Values   map[string]madeMetrics `json:"values"` // by case, "" where there is none
	Minimum  float64                `json:"minimum"`
	FailIf   []string               `json:"fail_if"`
	Boots    map[string][]int       `json:"boots"` // of an arm's values; none: all are of one boot
	Failures map[string]string      `json:"failures"`
	// Calibration is taken as it is.
	Calibration []result.MetricCalibration `json:"calibration"`
}

// madeMetrics are values by metric and arm.
type madeMetrics map[string]map[string][]float64

func (m made) comparison(t *testing.T) result.Comparison {
	t.Helper()
	c := result.Comparison{Kind: result.KindComparison, Schema: result.ComparisonSchema, Cases: m.Cases, Arms: m.Arms, Order: m.Order, Calibration: m.Calibration,
		Scenario: scenarios.Default()}
	c.Scenario.Name, c.Scenario.Summary = "made-up", "for a test of the text"
	at := 0
	for _, k := range m.Cases {
		for i := 0; ; i++ {
			any := false
			for _, a := range m.Arms {
				s := result.Sample{Arm: a.Name, Case: k.Name, Boot: 1, Metrics: map[string]float64{}}
				for name, arms := range m.Values[k.Name] {
					if v := arms[a.Name]; i < len(v) {
						s.Metrics[name] = v[i]
					}
				}
				if len(s.Metrics) == 0 {
					continue
				}
				if b := m.Boots[a.Name]; i < len(b) {
					s.Boot = b[i]
				}
				any = true
				at++
				s.At = at
				c.Samples = append(c.Samples, s)
			}
			if !any {
				break
			}
		}
	}
	for arm, why := range m.Failures {
		c.Samples = append(c.Samples, result.Sample{Arm: arm, Case: m.Cases[0].Name, Boot: 1, Failure: why})
	}
	text := encode(t, c)
	c, err := compare.Files([]compare.File{{Name: "made.json", Data: text}}, compare.Claims{Minimum: m.Minimum, FailIf: m.FailIf}, "test")
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Arms {
		c.Arms[i].File = ""
	}
	return c
}

func encode(t *testing.T, c result.Comparison) []byte {
	t.Helper()
	var b strings.Builder
	if err := result.EncodeComparison(&b, c); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

// The texts of comparisons with made-up values, among them those whose means are the public reports'.
func TestComparisonTexts(t *testing.T) {
	files, err := filepath.Glob("testdata/compare/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
			var m made
			data, err := os.ReadFile(name)
			if err == nil {
				err = json.Unmarshal(data, &m)
			}
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, strings.TrimSuffix(name, ".json")+".txt", Comparison(m.comparison(t)))
		})
	}
}

// The line is that of the networking list, letter by letter.
func TestDifferenceLineIsTheLists(t *testing.T) {
	data, err := os.ReadFile("testdata/compare/gro-batch-2018.json")
	if err != nil {
		t.Fatal(err)
	}
	var m made
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"stream, GRO on":  "old: 9.415 Gbit/s new: 9.417 Gbit/s (Welch p = 0.087, n₁ = n₂ = 3)",
		"stream, GRO off": "old: 5.200 Gbit/s new: 5.839 Gbit/s (12.3 % faster) (Welch p < 0.001, n₁ = n₂ = 6)",
		"rr, GRO on":      "old: 855.833 µs new: 862.033 µs (Welch p = 0.040, n₁ = n₂ = 6)", // alone it is 0.7 % slower; as one of four, chance
		"rr, GRO off":     "old: 962.733 µs new: 871.417 µs (9.5 % faster) (Welch p < 0.001, n₁ = n₂ = 6)",
	}
	c := m.comparison(t)
	for i, d := range c.Differences {
		if got := DifferenceLine(c.Cases[i], d); got != want[d.Case] {
			t.Errorf("%s:\n got %s\nwant %s", d.Case, got, want[d.Case])
		}
	}
	if len(c.Differences) != len(want) {
		t.Errorf("%d differences, want %d", len(c.Differences), len(want))
	}
}
