package report

import (
	"fmt"
	"strings"

	"bondrepro/reproducer/result"
)

// Search is a search for people: what was tried, how often the condition held, and last the answer.
func Search(s result.Search) string {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			wrap(&b, fmt.Sprintf("%-*s", labels, label), text)
		}
	}
	sc := searchScale(s)
	line("scenario", s.Scenario.Name+": "+s.Scenario.Summary)
	line("set", strings.Join(s.Set, ", "))
	line("search", fmt.Sprintf("the highest %s for which %s, from %s to %s, within %s %%", s.Path, s.Until, sc.value(s.From), sc.value(s.To), number(100*s.Resolution)))
	line("measured", measuredText(s.Testbed, s.Host, s.Guest))
	if len(s.LineRate) > 0 {
		line("line rate", lineRates(s.LineRate))
	}
	b.WriteByte('\n')
	lines := [][]string{{s.Path + comma(sc.unit), "held", "of runs", ""}}
	for _, t := range s.Trials {
		verdict := "fails"
		if t.Holds {
			verdict = "holds"
		}
		if t.Mixed() {
			verdict += ", mixed"
		}
		lines = append(lines, []string{sc.figure(t.Value), fmt.Sprint(t.Held), fmt.Sprint(t.Runs), verdict})
	}
	align(&b, lines)
	b.WriteByte('\n')
	for _, w := range s.Warnings {
		wrap(&b, "warning: ", w.Text)
	}
	wrap(&b, "", answerText(s, sc))
	return b.String()
}

func searchScale(s result.Search) scale {
	if s.Unit == "bit/s" {
		return scaleOf(s.Unit, s.To)
	}
	return scale{s.Unit, 1}
}

func answerText(s result.Search, sc scale) string {
	switch s.Answer {
	case result.SearchHolds:
		return fmt.Sprintf("%s holds at every %s up to %s.", s.Until, s.Path, sc.value(s.To))
	case result.SearchFails:
		return fmt.Sprintf("%s fails at every %s: already at %s, where the search begins (--from).", s.Until, s.Path, sc.value(s.From))
	}
	return fmt.Sprintf("highest %s for which %s: %s; it fails at %s.", s.Path, s.Until, sc.value(s.Pass), sc.value(s.Fail))
}
