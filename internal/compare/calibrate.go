package compare

import (
	"context"
	"fmt"

	"bondrepro/internal/stats"
	"bondrepro/reproducer/result"
)

// calibrate compares the first arm with itself, as often as asked, with as many runs and in the order of the comparison. Where the
// arms have boots of their own, so has each copy.
func calibrate(ctx context.Context, bench Bench, o Options, gates []Gate, c *result.Comparison) error {
	copies := []Arm{o.Arms[0], o.Arms[0]}
	copies[1].Name += "′"
	places := [][]int{{0, 1}}
	if len(groups(o.Arms)) > 1 {
		places = [][]int{{0}, {1}}
	}
	found := map[subject][]stats.Comparison{}
	var subjects []subject
	for i := range o.Calibrate {
		order := c.Order
		order.Seed += uint64(i+1) * min(1, order.Seed) // another random order; none stays none
		progress := func(text string) { o.Progress(fmt.Sprintf("calibration %d of %d: %s", i+1, o.Calibrate, text)) }
		m, err := measure(ctx, bench, copies, c.Cases, plan(order, places, len(c.Cases)), progress)
		if err != nil {
			return err
		}
		c.CalibrationSamples = append(c.CalibrationSamples, m.samples)
		wanted := o.Claims.names(gates)
		for _, k := range c.Cases {
			for _, name := range chosen(k, wanted, m.samples) {
				s := subject{metric: name, kase: k.Name}
				pair := stats.Metric{Name: s.title(), Base: values(m.samples, copies[0].Name, k.Name, name), Other: values(m.samples, copies[1].Name, k.Name, name)}
				if len(pair.Base) == 0 || len(pair.Other) == 0 {
					continue
				}
				one, err := stats.Compare([]stats.Metric{pair}, o.Minimum)
				if err != nil {
					return err
				}
				if found[s] == nil {
					subjects = append(subjects, s)
				}
				found[s] = append(found[s], one...)
			}
		}
	}
	for _, s := range subjects {
		c.Calibration = append(c.Calibration, s.calibration(stats.Calibrate(found[s])))
	}
	return nil
}

func (s subject) calibration(c stats.Calibration) result.MetricCalibration {
	return result.MetricCalibration{
		Metric: s.metric, Case: s.kase, Comparisons: c.Comparisons, Tested: c.Tested, Seen: c.Seen,
		Rate: result.Interval{Low: c.Rate.Low, High: c.Rate.High}, Claimed: c.Claimed,
		Floor: c.Floor, FloorChance: c.FloorChance, TooMany: c.MoreThanStated(),
	}
}
