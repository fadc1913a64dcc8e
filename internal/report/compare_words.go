package report

import (
	"fmt"
	"math"
	"slices"

	"bondrepro/reproducer/result"
)

// DifferenceLine is a difference as the networking list writes it: both means, the change where there is one beyond chance, Welch's p
// and both n.
func DifferenceLine(k result.ComparedCase, d result.MetricDifference) string {
	s := shownScale(k, d.Unit, d.BaseIs.Mean, d.OtherIs.Mean)
	line := fmt.Sprintf("%s: %s %s: %s", d.Base, s.value(d.BaseIs.Mean), d.Other, s.value(d.OtherIs.Mean))
	if change := changeText(d, s); change != "" {
		line += " (" + change + ")"
	}
	return line + " (" + testText(d) + ", " + nText(d) + ")"
}

// changeText is empty where chance, or the noise of the machine, explains what was seen.
func changeText(d result.MetricDifference, s scale) string {
	if d.P == nil || d.P.Holm >= 0.05 || d.Why == "below-noise" {
		return ""
	}
	size := s.value(math.Abs(d.Value))
	if d.Percent != nil {
		size = percentage(math.Abs(d.Percent.Value)) + " %"
	}
	words, ok := changeWords[d.Unit]
	if !ok {
		words = [2]string{"more", "less"}
	}
	if d.Value < 0 {
		return size + " " + words[1]
	}
	return size + " " + words[0]
}

// changeWords are what a higher and a lower value are called.
var changeWords = map[string][2]string{
	"bit/s": {"faster", "slower"}, "1/s": {"faster", "slower"}, "µs": {"slower", "faster"}, "ms": {"slower", "faster"},
}

func testText(d result.MetricDifference) string {
	switch {
	case d.Welch != nil:
		return "Welch " + pText(d.Welch.P)
	case d.Rank != nil:
		return "exact " + pText(d.Rank.P) + ", no value varies"
	}
	return "no p"
}

func nText(d result.MetricDifference) string {
	text := fmt.Sprintf("n₁ = %d, n₂ = %d", d.BaseIs.N, d.OtherIs.N)
	if d.BaseIs.N == d.OtherIs.N {
		text = fmt.Sprintf("n₁ = n₂ = %d", d.BaseIs.N)
	}
	if d.Counts == "boots" {
		text += " boots"
	}
	return text
}

// verdictText is what is claimed, and on what it rests.
func verdictText(c result.Comparison, d result.MetricDifference, s scale) string {
	minimum := number(c.Minimum) + " %"
	switch d.Verdict {
	case result.DifferenceNone:
		return fmt.Sprintf("no difference that matters: it is below %s", minimum)
	case result.DifferenceHigher, result.DifferenceLower:
		word := string(d.Verdict)
		switch {
		case d.Improves():
			word = "better"
		case d.Worsens():
			word = "worse"
		}
		if d.Percent == nil || c.Minimum == 0 {
			return word
		}
		return fmt.Sprintf("%s, by more than %s", word, minimum)
	}
	return "cannot tell: " + whyText(c, d, s, minimum)
}

func whyText(c result.Comparison, d result.MetricDifference, s scale, minimum string) string {
	switch d.Why {
	case "one-unit":
		if d.Counts == "boots" {
			return "an arm has a single boot, and what another boot would show is not known (--boots)"
		}
		return "an arm has a single run, and so there is no p (-n)"
	case "below-noise":
		i := slices.IndexFunc(c.Calibration, func(m result.MetricCalibration) bool { return m.Metric == d.Metric && m.Case == d.Case })
		if i >= 0 {
			return fmt.Sprintf("this machine shows differences of up to %s between an arm and itself", s.value(c.Calibration[i].Floor))
		}
		return "this machine shows such differences between an arm and itself"
	case "may-be-small":
		return "there is a difference, but it may be smaller than " + minimum
	case "too-few":
		return "no value varies, and so few do not show that there is no difference"
	}
	more := "runs (-n)"
	if d.Counts == "boots" {
		more = "boots (--boots)"
	}
	if c.Minimum == 0 {
		return "no difference was seen, which does not show that there is none"
	}
	return "no difference was seen, but one of more than " + minimum + " may be there; more " + more + " would tell"
}
