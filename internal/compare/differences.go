package compare

import (
	"bondrepro/internal/stats"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// subject is what one difference is about.
type subject struct{ metric, kase, base, other string }

// differences are those of every metric in every case, of each further arm and the first: one family.
func differences(c result.Comparison, wanted []string) ([]result.MetricDifference, error) {
	var subjects []subject
	var metrics []stats.Metric
	for _, k := range c.Cases {
		for _, name := range chosen(k, wanted, c.Samples) {
			for i := 1; i < len(c.Arms); i++ {
				s := subject{name, k.Name, c.Arms[0].Name, c.Arms[i].Name}
				m := stats.Metric{Name: s.title(), Base: values(c.Samples, s.base, k.Name, name), Other: values(c.Samples, s.other, k.Name, name), Noise: noise(c, s)}
				if len(m.Base) > 0 && len(m.Other) > 0 {
					subjects, metrics = append(subjects, s), append(metrics, m)
				}
			}
		}
	}
	cs, err := stats.Compare(metrics, c.Minimum)
	if err != nil {
		return nil, err
	}
	out := make([]result.MetricDifference, len(cs))
	for i, s := range subjects {
		out[i] = s.difference(cs[i])
	}
	return out, nil
}

// alone sums up the only arm, in the metrics that it would be compared in.
func alone(c result.Comparison, wanted []string) (all []result.MetricSummary) {
	for _, k := range c.Cases {
		for _, name := range chosen(k, wanted, c.Samples) {
			runs := values(c.Samples, c.Arms[0].Name, k.Name, name)
			if len(runs) == 0 {
				continue
			}
			m, _ := scenarios.FindMetric(name)
			s, unit := stats.Describe(runs)
			all = append(all, result.MetricSummary{Metric: name, Unit: m.Unit, Case: k.Name, Counts: string(unit), Is: summary(s)})
		}
	}
	return all
}

// title names a subject in errors.
func (s subject) title() string {
	if s.kase == "" {
		return s.metric
	}
	return s.metric + ", " + s.kase
}

// values are one arm's, of one case, in the order in which they were measured.
func values(samples []result.Sample, arm, kase, metric string) (runs []stats.Run) {
	for _, s := range samples {
		if s.Arm == arm && s.Case == kase && has(s, metric) {
			runs = append(runs, stats.Run{Value: s.Metrics[metric], Boot: s.Boot, At: s.At})
		}
	}
	return runs
}

// noise is what a calibration found, or 0.
func noise(c result.Comparison, s subject) float64 {
	for _, m := range c.Calibration {
		if m.Metric == s.metric && m.Case == s.kase {
			return m.Floor
		}
	}
	return 0
}

func (s subject) difference(c stats.Comparison) result.MetricDifference {
	m, _ := scenarios.FindMetric(s.metric)
	d := result.MetricDifference{
		Metric: s.metric, Unit: m.Unit, Better: string(m.Better), Case: s.kase, Base: s.base, Other: s.other, Counts: string(c.Unit),
		BaseIs: summary(c.Base), OtherIs: summary(c.Other),
		Value: c.Difference.Value, Range: interval(c.Difference.Interval),
		P: probability(c.P), PLarge: probability(c.PMinimum),
		Verdict: result.DifferenceVerdict(c.Verdict), Why: string(c.Why),
	}
	if c.Percent != nil {
		d.Percent = &result.Percent{Value: c.Percent.Value, Interval: interval(c.Percent.Interval)}
	}
	if c.Welch != nil {
		d.Welch = &result.Test{Statistic: c.Welch.T, DF: c.Welch.DF, P: c.Welch.P}
	}
	if c.Rank != nil {
		d.Rank = &result.Test{Statistic: c.Rank.U, P: c.Rank.P, Method: string(c.Rank.Method)}
	}
	sides := map[stats.Side]string{stats.Base: s.base, stats.Other: s.other}
	for _, w := range c.Warnings {
		d.Notes = append(d.Notes, result.SideNote{Code: w.Code, Of: sides[w.Of], Text: w.Text})
	}
	return d
}

func summary(s stats.Sample) result.Summary {
	return result.Summary{N: s.N, Runs: s.Runs, Boots: s.Boots, Mean: s.Mean, SD: s.SD, Interval: interval(s.Interval), Median: s.Median, Min: s.Min, Max: s.Max}
}

func interval(i *stats.Interval) *result.Interval {
	if i == nil {
		return nil
	}
	return &result.Interval{Low: i.Low, High: i.High}
}

func probability(p *stats.P) *result.P {
	if p == nil {
		return nil
	}
	return &result.P{Value: p.Value, Holm: p.Holm}
}
