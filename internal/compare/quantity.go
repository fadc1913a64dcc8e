package compare

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// quantity is what a search varies: a path with numbers of one unit.
type quantity struct {
	path   string
	suffix string  // of a value, as --set takes it
	unit   string  // for people
	step   float64 // values are whole multiples; 0: any
	from   float64
	to     float64 // 0: twice the line rate
}

// rateUnits are what a rate is searched in, by how its text ends.
var rateUnits = []struct{ ending, suffix, unit string }{{"pps", "pps", "packets/s"}, {"bit", "bit", "bit/s"}}

// quantity reads what is varied and its ends.
func (o SearchOptions) quantity() (q quantity, err error) {
	q.path = o.Max
	if q.path == "rate" {
		if q.path = ratePath; !o.Base.Scenario.OnBond() {
			q.path = loadRatePath
		}
	}
	rate := q.path == ratePath || q.path == loadRatePath
	switch {
	case q.path == "":
		return q, errors.New("search: --max is missing: what is to be as high as possible, as in --max rate")
	case o.To == "" && q.path != ratePath:
		return q, fmt.Errorf("--max %s: where does it end? Give --to VALUE", o.Max)
	case rate:
		q.suffix, q.unit = "bit", "bit/s"
		for _, u := range rateUnits {
			if strings.HasSuffix(o.To, u.ending) {
				q.suffix, q.unit = u.suffix, u.unit
			}
		}
	}
	if q.to, err = q.read("--to", o.To); err != nil {
		return q, err
	}
	if q.from, err = q.read("--from", o.From); err != nil {
		return q, err
	}
	if rate || q.to == math.Trunc(q.to) && q.from == math.Trunc(q.from) {
		q.step = 1
	}
	return q, nil
}

// read is a value of the quantity; empty is 0.
func (q quantity) read(flag, text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	if q.unit == "" {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v <= 0 || math.IsInf(v, 0) {
			return 0, fmt.Errorf("%s %s: it must be a number above 0", flag, text)
		}
		return v, nil
	}
	var r scenarios.Rate
	if err := r.UnmarshalText([]byte(text)); err != nil {
		return 0, fmt.Errorf("%s: %w", flag, err)
	}
	v := r.BitsPerSecond
	if q.suffix == "pps" {
		v = r.PacketsPerSecond
	}
	if v == 0 {
		return 0, fmt.Errorf("%s %s: both ends must be in %s", flag, text, q.unit)
	}
	return v, nil
}

// text is a value as --set takes it.
func (q quantity) text(v float64) string {
	if q.unit != "" || q.step > 0 {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64) + q.suffix
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// say is a value for people.
func (q quantity) say(v float64) string {
	if q.unit == "bit/s" {
		return result.BitRate(v)
	}
	return q.text(v)
}

// settle makes numbers of the ends that were left open.
func (q *quantity) settle(lines []float64) error {
	if q.to == 0 {
		for _, l := range lines {
			q.to += 2 * l
		}
		if q.to == 0 {
			return errors.New("search: the line rate is not known here: give --to VALUE")
		}
	}
	if q.from == 0 {
		if q.from = q.to / 100; q.unit == "" && q.step > 0 {
			q.from = 1
		}
		q.from = max(q.step, q.from)
	}
	if q.from >= q.to {
		return fmt.Errorf("--from %s is not below --to %s", q.say(q.from), q.say(q.to))
	}
	return nil
}
