package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// The defaults of a search.
const (
	DefaultResolution = 1.0 // percent
	DefaultConfirm    = 2   // the best of three
)

// ratePath is the rate of a bond's senders, loadRatePath that of the other workloads.
const (
	ratePath     = "traffic.rate"
	loadRatePath = "load.rate"
)

// SearchOptions say what to look for.
type SearchOptions struct {
	Base       Base
	Set        []string // the --set assignments already applied, for the record
	Max        string   // a numeric path of the scenario; rate is that of the workload
	Until      string   // an expression over the metric table
	From, To   string   // as --set takes them; empty: a hundredth of To, and twice the line rate
	Resolution float64  // percent of the answer
	Confirm    int
	Tool       string
	Progress   func(text string) // nil is silence
}

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
	if !rate && q.to == math.Trunc(q.to) && q.from == math.Trunc(q.from) {
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
		if q.from = q.to / 100; q.step > 0 {
			q.from = 1
		}
	}
	if q.from >= q.to {
		return fmt.Errorf("--from %s is not below --to %s", q.say(q.from), q.say(q.to))
	}
	return nil
}

// Prepare checks the options and reads them: what follows can fail for the place's reasons only, but for ends that the place tells.
func (o SearchOptions) Prepare() (*Seeker, error) {
	q, err := o.quantity()
	if err != nil {
		return nil, err
	}
	if o.Until == "" {
		return nil, errors.New("search: --until is missing: the condition that must hold, as in --until 'slaves.qdisc.dropped == 0'")
	}
	until, err := scenarios.ParseExpr(o.Until)
	if err != nil {
		return nil, fmt.Errorf("--until: %w", err)
	}
	switch {
	case !(o.Resolution > 0 && o.Resolution < 100):
		return nil, fmt.Errorf("--resolution %v: it must be above 0 and below 100 percent", o.Resolution)
	case o.Confirm < 1:
		return nil, fmt.Errorf("--confirm %d: it must be 1 at least", o.Confirm)
	}
	sc, err := o.Base.Scenario.With()
	if err == nil {
		sc, err = anyRate(sc, q.path)
	}
	if err == nil {
		err = sc.Validate()
	}
	if err != nil {
		return nil, err
	}
	o.Base.Scenario = sc
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	s := &Seeker{SearchOptions: o, quantity: q, until: until}
	for _, v := range []float64{q.from, q.to} {
		if v > 0 {
			if _, err := s.at(v); err != nil {
				return nil, fmt.Errorf("--max %s: %w", o.Max, err)
			}
		}
	}
	return s, nil
}

// Seeker is a search that is ready to begin.
type Seeker struct {
	SearchOptions
	quantity quantity
	until    scenarios.Expr
	place    Place
	report   result.Search
}

// Arm is what the search's place is opened for.
func (s *Seeker) Arm() Arm {
	return Arm{Name: "search", Kernel: s.Base.Kernel, Modules: s.Base.Modules, Scenarios: []scenarios.Scenario{s.Base.Scenario}}
}

// at is the scenario with a value.
func (s *Seeker) at(v float64) (scenarios.Scenario, error) {
	sc := s.Base.Scenario
	if err := sc.Set(s.quantity.path + "=" + s.quantity.text(v)); err != nil {
		return sc, err
	}
	return sc, sc.Validate()
}

// Search looks for the highest value. A *reproducer.KernelError says that the kernel failed; an *UnclearError that no run can tell
// whether the condition holds.
func (s *Seeker) Search(ctx context.Context, bench Bench) (r result.Search, err error) {
	s.place, err = bench.Open(ctx, s.Arm())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.place.Close()) }()
	facts := s.place.Facts()
	if err := s.quantity.settle(facts.LineRate); err != nil {
		return r, err
	}
	q := s.quantity
	s.report = result.Search{Kind: result.KindSearch, Schema: result.SearchSchema, Tool: "bondrepro " + s.Tool, Created: time.Now().UTC(),
		Scenario: s.Base.Scenario, Set: s.Set, Path: q.path, Unit: q.unit, Until: s.Until, From: q.from, To: q.to,
		Resolution: s.Resolution / 100, Confirm: s.Confirm, Testbed: facts.Testbed, Host: &facts.Host, Guest: facts.Guest, LineRate: facts.LineRate}
	b := Bisection{From: q.from, To: q.to, Resolution: s.Resolution / 100, Step: q.step, Confirm: s.Confirm}
	found, err := b.Find(func(v float64) (bool, error) { return s.run(ctx, v) })
	s.report.Answer, s.report.Pass, s.report.Fail, s.report.Trials = found.Answer, found.Pass, found.Fail, found.Trials
	s.warn()
	s.warnOfQueue()
	return s.report, err
}

// UnclearError says that a search can't go on, as no run tells whether the condition holds.
type UnclearError struct{ Reason string }

func (e *UnclearError) Error() string { return e.Reason }

// tries is how often a run is taken again that does not count, or does not tell.
const tries = 3

// run measures a value until a run tells whether the condition holds.
func (s *Seeker) run(ctx context.Context, v float64) (bool, error) {
	sc, err := s.at(v)
	if err != nil {
		return false, err
	}
	text := s.quantity.text(v)
	why := ""
	for range tries {
		s.Progress(fmt.Sprintf("run %d: %s=%s", len(s.report.Samples)+1, s.quantity.path, text))
		sample, err := s.place.Sample(ctx, text, sc)
		if err != nil {
			return false, err
		}
		sample.Arm, sample.Boot, sample.At = text, 1, len(s.report.Samples)+1
		s.report.Samples = append(s.report.Samples, sample)
		if why = sample.Failure; why != "" {
			continue
		}
		holds, evaluated := s.until.Eval(func(name string) (float64, bool) { x, ok := sample.Metrics[name]; return x, ok })
		if evaluated {
			return holds, nil
		}
		why = "it does not measure all of " + strings.Join(s.until.Metrics(), ", ")
	}
	return false, &UnclearError{fmt.Sprintf("%s=%s: %s do not tell whether %s: %s", s.quantity.path, text, result.Plural(tries, "run"), s.Until, why)}
}

// short is the share of a rate that the senders must have offered.
const short = 0.98

// offered is the metric that tells what the senders offered, in bit/s.
const offered = "rate.offered"

// warn says what the answer's reader should know: values at which runs contradict each other, and a rate that was never offered.
func (s *Seeker) warn() {
	for _, t := range s.report.Trials {
		if t.Mixed() {
			s.report.Warnings = append(s.report.Warnings, result.Warning{Code: "mixed",
				Text: fmt.Sprintf("At %s the condition held in %d of %s.", s.quantity.say(t.Value), t.Held, result.Plural(t.Runs, "run"))})
		}
		if t.Holds && s.report.Answer == result.SearchFound && t.Value > s.report.Fail {
			s.report.Warnings = append(s.report.Warnings, result.Warning{Code: "not-monotonic",
				Text: fmt.Sprintf("It held at %s, though it failed below that.", s.quantity.say(t.Value))})
		}
	}
	if s.report.Pass == 0 || s.quantity.path != ratePath || s.quantity.unit != "bit/s" {
		return
	}
	most, seen := 0.0, false
	for _, x := range s.report.Samples {
		if v, ok := x.Metrics[offered]; ok && x.Arm == s.quantity.text(s.report.Pass) {
			most, seen = max(most, v), true
		}
	}
	if seen && most < short*s.report.Pass {
		s.report.Warnings = append(s.report.Warnings, result.Warning{Code: "not-offered",
			Text: fmt.Sprintf("At %s the senders offered %s only: what a higher rate would do is not known.", s.quantity.say(s.report.Pass), result.BitRate(most))})
	}
}

// headers are those of a UDP datagram in an Ethernet frame, bytes.
const headers = 14 + 20 + 8

// warnOfQueue says what a run is too short to see: queue and ring take in what comes above the line's rate until they are full.
func (s *Seeker) warnOfQueue() {
	sc, lines := s.report.Scenario, s.report.LineRate
	seconds := time.Duration(sc.Traffic.Duration).Seconds()
	if s.quantity.path != ratePath || len(lines) == 0 || lines[0] == 0 || seconds == 0 || s.report.Answer == result.SearchFails {
		return
	}
	room := s.place.Preflight(sc).Room()
	hidden := float64(room*(sc.Traffic.Payload+headers)*8) / (lines[0] * seconds)
	if hidden > s.report.Resolution {
		s.report.Warnings = append(s.report.Warnings, result.Warning{Code: "short-runs",
			Text: fmt.Sprintf("A run of %v may hide a rate of up to %.1f %% above the line's: queue and ring hold %s before one is dropped. A longer traffic.duration or a shorter topology.slaves.txqueuelen hides less.",
				sc.Traffic.Duration, 100*hidden, result.Plural(room, "packet"))})
	}
}
