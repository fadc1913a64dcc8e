package reproducer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/exitcode"
	"bondrepro/internal/measure"
	"bondrepro/internal/testbed"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// recorded is a result of a real guest (Debian 6.1.192 under TCG, two CPUs), written by `run -o`.
func recorded(t *testing.T, name string) result.Result {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Decode(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recording is the last run of an arm of a recorded result.
func recording(t *testing.T, name, arm string) result.Recording {
	t.Helper()
	for _, a := range recorded(t, name).Arms {
		if a.Name == arm {
			return a.Runs[len(a.Runs)-1].Recording
		}
	}
	t.Fatalf("%s has no arm %s", name, arm)
	return result.Recording{}
}

// answer is what the place below says to one measurement.
type answer struct {
	rec result.Recording
	err error
}

// place is a testbed that plays recordings back.
type place struct {
	answers []answer
	jobs    []measure.Job
	lacks   []string
	says    []string
	closed  int
	fails   error // of Sample
	probes  int
}

var _ testbed.Testbed = (*place)(nil)

func (p *place) Guest() *result.Guest     { return &result.Guest{Kernel: "6.1"} }
func (p *place) Host() result.Host        { return result.Host{CPUs: 2} }
func (p *place) Slaves() []string         { return []string{"52:54:00:b0:4d:01", "52:54:00:b0:4d:02"} }
func (p *place) Partner() []string        { return nil }
func (p *place) Lacks(module string) bool { return slices.Contains(p.lacks, module) }

func (p *place) CatchUp(scenarios.Scenario) time.Duration { return 0 }
func (p *place) Complaints() []string                     { return p.says }
func (p *place) Close() error                             { p.closed++; return nil }

func (p *place) Probe(context.Context, measure.Job) (measure.Probe, error) {
	p.probes++
	return measure.Probe{Truesize: 8448, Slaves: []result.SlaveState{{Ring: 256}, {Ring: 256}}}, nil
}

func (p *place) Sample(_ context.Context, job measure.Job) (result.Sample, error) {
	p.jobs = append(p.jobs, job)
	return result.Sample{Arm: job.Arm, Metrics: map[string]float64{"throughput": 1e9}}, p.fails
}

func (p *place) Measure(_ context.Context, job measure.Job) (result.Recording, error) {
	if len(p.jobs) == len(p.answers) {
		return result.Recording{}, fmt.Errorf("measurement %d was not expected", len(p.jobs)+1)
	}
	a := p.answers[len(p.jobs)]
	p.jobs = append(p.jobs, job)
	return a.rec, a.err
}

// experimentAt is an experiment whose place is up and known, as after Open.
func experimentAt(t *testing.T, p *place) *experiment {
	t.Helper()
	stock := recorded(t, "stock")
	sc := stock.Config.Scenario
	s := &Session{options: Options{Scenario: sc, Progress: func(string) {}}, place: p, config: stock.Config}
	s.config.Modules = nil
	if err := s.probe(t.Context(), s.config.Scenario); err != nil {
		t.Fatal(err)
	}
	return &experiment{session: s, test: result.Arm{Name: result.ArmTest, Scenario: sc}}
}

func TestExperiment(t *testing.T) {
	stock, control := answer{rec: recording(t, "stock", "test")}, answer{rec: recording(t, "stock", "control")}
	orphan, lose := answer{rec: recording(t, "orphan", "test")}, answer{rec: recording(t, "lose", "test")}
	invalid := stock
	invalid.rec.Events = []result.Event{{Kind: result.EventLinkDown, Slave: 0, Text: "the slave lost carrier"}}
	panicked := answer{err: &testbed.KernelError{Reason: "the guest's kernel panicked"}}

	for _, c := range []struct {
		name    string
		answers []answer
		lacks   []string
		want    result.Verdict
		arms    []string // of the jobs, in order
	}{
		{"two clean runs and a bad control", []answer{stock, stock, control}, nil, result.Good, []string{"test", "test", "control"}},
		{"a bad run decides", []answer{orphan, control}, nil, result.Bad, []string{"test", "control"}},
		{"a remainder wants a second run", []answer{lose, lose, control}, nil, result.Bad, []string{"test", "test", "control"}},
		{"invalid runs are repeated", []answer{invalid, stock, stock, control}, nil, result.Good, []string{"test", "test", "test", "control"}},
		{"a control that is not bad", []answer{stock, stock, stock}, nil, result.Inconclusive, []string{"test", "test", "control"}},
		{"an invalid control is tried once more", []answer{stock, stock, invalid, control}, nil, result.Good, []string{"test", "test", "control", "control"}},
		{"a panic ends it", []answer{stock, panicked}, nil, result.Inconclusive, []string{"test", "test"}},
		{"a panic in the control", []answer{stock, stock, panicked}, nil, result.Inconclusive, []string{"test", "test", "control"}},
	} {
		p := &place{answers: c.answers, lacks: c.lacks}
		e := experimentAt(t, p)
		if err := e.measure(t.Context()); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var arms []string
		for _, j := range p.jobs {
			arms = append(arms, j.Arm)
		}
		r := e.result()
		if r.Judgement.Verdict != c.want || !slices.Equal(arms, c.arms) {
			t.Errorf("%s: %s after %v (%s), want %s after %v", c.name, r.Judgement.Verdict, arms, r.Judgement.Reason, c.want, c.arms)
		}
	}
}

func TestControlIsLeftOutWhenAsked(t *testing.T) {
	stock := answer{rec: recording(t, "stock", "test")}
	p := &place{answers: []answer{stock, stock}}
	e := experimentAt(t, p)
	e.session.config.NoControl = true
	if err := e.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := e.result().Judgement.Verdict; v != result.Good || len(p.jobs) != 2 {
		t.Errorf("%s after %d measurements, want good after 2", v, len(p.jobs))
	}
}

// A place that can't do what was asked for gives no verdict.
func TestExperimentErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int // exit code
	}{
		{&measure.Fault{Class: measure.Refused, Text: "traffic.socket.gso: 4 can't be had"}, exitcode.Usage},
		{&testbed.UsageError{Err: errors.New("no kernel")}, exitcode.Usage},
		{&testbed.UsageError{Err: &measure.Fault{Class: measure.Failed, Text: "no NIC; give --modules"}}, exitcode.Usage},
		{errors.New("QEMU failed"), exitcode.Usage},
		{&exitcode.Error{Code: exitcode.Panicked, Err: errors.New("our program in the guest died")}, exitcode.Panicked},
	} {
		e := experimentAt(t, &place{answers: []answer{{err: c.err}}})
		err := e.measure(t.Context())
		if err == nil || exitcode.Of(err) != c.want {
			t.Errorf("%v: got %v, exit code %d, want %d", c.err, err, exitcode.Of(err), c.want)
		}
	}
	// … and what the kernel under test lacks is its own fault: a verdict.
	e := experimentAt(t, &place{answers: []answer{{err: &measure.Fault{Class: measure.Unsupported, Text: "this kernel has no bonding"}}}})
	if err := e.measure(t.Context()); err != nil {
		t.Error(err)
	}
	if j := e.result().Judgement; j.Verdict != result.Inconclusive {
		t.Errorf("without bonding: %s", j.Verdict)
	}
}

// Without netem the control is a queue that must overflow.
func TestWeakerControl(t *testing.T) {
	e := experimentAt(t, &place{lacks: []string{"sch_netem"}})
	sc, err := e.controlScenario()
	if err != nil {
		t.Fatal(err)
	}
	pf := e.session.Preflight(sc)
	if sc.Orphan != scenarios.OrphanNone || sc.Topology.Slaves.TxQueueLen != 8 || !pf.Exceeds || pf.Sum < 2*pf.Room() {
		t.Errorf("orphan %s, txqueuelen %d, %d senders, preflight %+v", sc.Orphan, sc.Topology.Slaves.TxQueueLen, sc.Traffic.Senders, pf)
	}
	// A kernel whose files do not tell shows it only when it is measured.
	stock := answer{rec: recording(t, "stock", "test")}
	p := &place{answers: []answer{stock, stock, {err: &measure.Fault{Class: measure.Unsupported, What: bondctl.Netem, Text: "this kernel has no netem"}}, stock}}
	e = experimentAt(t, p)
	if err := e.measure(t.Context()); err != nil || len(p.jobs) != 4 || p.jobs[3].Scenario.Topology.Slaves.TxQueueLen != 8 {
		t.Errorf("netem was not there: %v after %d measurements", err, len(p.jobs))
	}
	e = experimentAt(t, &place{})
	if sc, err = e.controlScenario(); err != nil || sc.Orphan != scenarios.OrphanNetem {
		t.Errorf("with netem: orphan %s, %v", sc.Orphan, err)
	}
}

func TestComplaintsAreWarnings(t *testing.T) {
	stock, control := answer{rec: recording(t, "stock", "test")}, answer{rec: recording(t, "stock", "control")}
	e := experimentAt(t, &place{answers: []answer{stock, stock, control}, says: []string{"WARNING: CPU: 0 PID: 1 at net/core/dev.c"}})
	if err := e.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, w := range e.result().Warnings {
		if w.Code == "kernel-complaints" {
			return
		}
	}
	t.Error("the kernel's WARNING is not among the result's warnings")
}

func TestLineRate(t *testing.T) {
	open := result.WireSlave{Ours: 900}
	for ms := range 120 { // 10 ms apart: 4000 bytes a millisecond, 32 Mbit/s
		open.AtMS = append(open.AtMS, float64(ms*10))
		open.CumBytes = append(open.CumBytes, uint64(ms*10*4000))
	}
	capacity := answer{rec: result.Recording{Wire: &result.Wire{Slaves: []result.WireSlave{open, {}}}}}
	silent := answer{rec: result.Recording{Wire: &result.Wire{Slaves: []result.WireSlave{{}, {}}}}}
	auto, fixed := scenarios.LineRates{Auto: true}, scenarios.LineRates{BitsPerSecond: []float64{6e7}}
	for _, c := range []struct {
		name    string
		rates   scenarios.LineRates
		answers []answer
		want    []float64
	}{
		{"a third of the capacity", auto, []answer{capacity}, []float64{10e6, 10e6}},
		{"a busy moment is not the capacity", auto, []answer{silent, capacity}, []float64{10e6, 10e6}},
		{"no capacity at all", auto, []answer{silent, silent, silent}, nil},
		{"one for all", fixed, nil, []float64{6e7, 6e7}},
		{"one a slave", scenarios.LineRates{BitsPerSecond: []float64{6e7, 1e8}}, nil, []float64{6e7, 1e8}},
	} {
		e := experimentAt(t, &place{answers: c.answers})
		s := e.session
		s.config.LineRate = nil
		s.config.Scenario.Topology.Slaves.LineRate = c.rates
		err := s.settleLineRate(t.Context())
		var kernel *KernelError
		if (err != nil) != (c.want == nil) || err != nil && !errors.As(err, &kernel) {
			t.Errorf("%s: %v", c.name, err)
		}
		if !slices.Equal(s.config.LineRate, c.want) {
			t.Errorf("%s: line rates %v, want %v", c.name, s.config.LineRate, c.want)
		}
	}
}

// The capacity is the open sender's, whatever the scenario does to it later.
func TestCapacityScenario(t *testing.T) {
	sc := scenarios.Default()
	zero := 0
	sc.Orphan, sc.Faults = scenarios.OrphanNetem, []scenarios.Fault{{SlaveDown: &zero}}
	sc.Traffic.Rate.PacketsPerSecond = 10
	got := capacityScenario(sc)
	if !got.Traffic.Rate.Unpaced() || got.Orphan != scenarios.OrphanNone || len(got.Faults) != 0 {
		t.Errorf("%+v", got)
	}
	if math.Abs(got.Traffic.Duration.D().Seconds()-1) > 1e-9 {
		t.Errorf("it takes %v", got.Traffic.Duration.D())
	}
}

// A control may have lines of its own: unequal ones in broadcast mode, say.
func TestControlWithItsOwnLines(t *testing.T) {
	stock, control := answer{rec: recording(t, "stock", "test")}, answer{rec: recording(t, "stock", "control")}
	p := &place{answers: []answer{stock, stock, control}}
	e := experimentAt(t, p)
	e.session.config.LineRate = []float64{1e7, 1e7}
	if err := e.session.config.Scenario.Set("control.topology.slaves.line_rate=[6mbit, 10mbit]"); err != nil {
		t.Fatal(err)
	}
	if err := e.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float64{{1e7, 1e7}, {1e7, 1e7}, {6e6, 1e7}} {
		if got := p.jobs[i].LineRate; !slices.Equal(got, want) {
			t.Errorf("job %d: line rates %v, want %v", i, got, want)
		}
	}
}
