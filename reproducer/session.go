// Package reproducer is the experiment: it opens a place to measure in, measures the arms of a scenario there,
// and has them judged.
package reproducer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"bondrepro/internal/judge"
	"bondrepro/internal/measure"
	"bondrepro/internal/testbed"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Options say what to measure and where. Only Scenario is required.
type Options struct {
	Scenario scenarios.Scenario // validated
	Set      []string           // the --set assignments already applied to it, for the record
	Testbed  string             // vm, netns or auto; empty is auto
	Kernel   string             // a .deb, a bzImage, a built tree, deb:PACKAGE, host; empty: DefaultKernel, where a guest is booted
	// ModulesDir holds the modules of a bare bzImage.
	ModulesDir string
	// Modules put a file in place of a module of the kernel's: NAME: FILE.
	Modules   map[string]string
	QEMU      string // program; empty: qemu-system-x86_64 from $PATH
	Pcap      string // file that gets every frame at the wire; empty: none
	Receiver  string // file that `bondrepro receive` writes at the far end; empty: none. It may be to come.
	NoControl bool
	Host      HostOptions
	Version   string // of the tool, for the record
	// Progress is told what is being done; nil is silence.
	Progress func(text string)
	// Ready is told the effective configuration, once it is known and before the first run; nil is nobody.
	Ready func(result.Config, result.Host, *result.Guest, result.Preflight)
}

// Session is a place that is up: one boot, for any number of measurements. Not for concurrent use.
type Session struct {
	options  Options
	config   result.Config
	place    testbed.Testbed
	closed   bool
	known    map[charging]measure.Probe
	firstRun uint32
	runs     uint32
}

// DefaultKernel is what is booted when nobody names a kernel: the distribution's cloud kernel, which is small
// and has bonding as a module.
const DefaultKernel = "deb:linux-image-cloud-amd64"

// Open brings the place up and settles everything that must be known before the first run: the line rate and
// what a packet is charged. The caller closes the session. Errors are *UsageError, *KernelError, or of the
// environment.
func Open(ctx context.Context, options Options) (*Session, error) {
	if options.Progress == nil {
		options.Progress = func(string) {}
	}
	bed, why, err := chooseTestbed(ctx, options, testbed.NetnsUsableFor(bedOptions(options)))
	if err != nil {
		return nil, err
	}
	if bed == testbedHost {
		if options, err = options.onPorts(); err != nil {
			return nil, &UsageError{Err: err}
		}
	}
	if err := checkReceiver(options, bed); err != nil {
		return nil, err
	}
	s := &Session{options: options, firstRun: rand.Uint32() &^ 0xffff, config: result.Config{
		Scenario: options.Scenario, Set: options.Set, Modules: options.Modules, NoControl: options.NoControl,
	}}
	if err := s.openChosen(ctx, bed, why); err != nil {
		return s, err
	}
	return s, s.settle(ctx)
}

// openChosen opens the testbed. Where auto chose the running kernel and that turns out to be unable, a guest is booted.
func (s *Session) openChosen(ctx context.Context, bed, why string) error {
	err := s.open(ctx, bed, why)
	asked := s.options.Testbed == bed
	if bed != testbedNetns || asked || !isRefusal(err) {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return s.open(ctx, testbedVM, autoGuest("the running kernel can't measure this ("+err.Error()+")"))
}

// open makes the place and learns what a packet is charged there.
func (s *Session) open(ctx context.Context, bed, why string) (err error) {
	if bed == testbedVM && s.options.Kernel == "" {
		s.options.Kernel = DefaultKernel
	}
	s.config.Testbed, s.config.TestbedWhy, s.config.Kernel = bed, why, s.options.Kernel
	if s.place, err = beds[bed](ctx, bedOptions(s.options)); err != nil {
		return fromPlace(err)
	}
	s.closed, s.known = false, nil // what was closed was another place
	s.config.Scenario = s.fit(s.config.Scenario)
	if !s.options.Scenario.OnBond() {
		return nil
	}
	return s.probe(ctx, s.config.Scenario)
}

// isRefusal tells whether a place can't do what is asked, or can't be made by this kernel.
func isRefusal(err error) bool {
	var usage *UsageError
	var kernel *KernelError
	return errors.As(err, &usage) || errors.As(err, &kernel)
}

// settle makes numbers of what the scenario leaves to the place.
func (s *Session) settle(ctx context.Context) error {
	if !s.options.Scenario.OnBond() {
		return nil
	}
	s.config.Scenario = s.settleSenders(s.config.Scenario)
	return s.settleLineRate(ctx)
}

// Close takes the place down, once. A session whose Open failed may be closed, too. An error that is a
// *NotRestoredError says what of this machine could not be put back.
func (s *Session) Close() error {
	if s.place == nil || s.closed {
		return nil
	}
	s.closed = true
	return fromClose(s.place.Close())
}

// Config is the effective configuration.
func (s *Session) Config() result.Config { return s.config }

// Preflight is the sum for an arm's scenario, with what was measured here.
func (s *Session) Preflight(sc scenarios.Scenario) result.Preflight {
	known, ring := s.knownOf(sc), 0
	if len(known.Slaves) > 0 {
		ring = known.Slaves[0].Ring
	}
	return judge.Preflight(sc, known.Truesize, ring)
}

// CatchUp is what a line passes at once after a pause, in time at its rate: a run may offer as much beyond the rate, and
// nothing is dropped.
func (s *Session) CatchUp(sc scenarios.Scenario) time.Duration { return s.place.CatchUp(sc) }

// Measure runs one arm once, at the session's line rates unless the arm has its own.
func (s *Session) Measure(ctx context.Context, arm string, sc scenarios.Scenario) (result.Recording, error) {
	rec, err := s.measure(ctx, arm, sc, s.lineRates(sc))
	if err == nil {
		err = s.attach(ctx, &rec)
	}
	return rec, err
}

// lineRates are those of the session, or an arm's own where it sets some.
func (s *Session) lineRates(sc scenarios.Scenario) []float64 {
	own := sc.Topology.Slaves.LineRate
	if s.config.Testbed == testbedHost || own.Auto || slices.Equal(own.BitsPerSecond, s.config.Scenario.Topology.Slaves.LineRate.BitsPerSecond) {
		return s.config.LineRate
	}
	return spread(own.BitsPerSecond, sc.Topology.Slaves.Count)
}

func (s *Session) measure(ctx context.Context, arm string, sc scenarios.Scenario, rates []float64) (result.Recording, error) {
	rec, err := s.place.Measure(ctx, s.job(arm, sc, rates))
	return rec, fromPlace(err)
}

// Run opens a session, measures the scenario's test arm as often as its verdict needs and its positive control
// once, and judges. A kernel that fails is a verdict (inconclusive, with the reason), not an error. Where a Result comes
// with an error, the place could not be put back as it was.
func Run(ctx context.Context, options Options) (r result.Result, err error) {
	if err := hasVerdict(options.Scenario); err != nil {
		return r, &UsageError{Err: err}
	}
	s, err := Open(ctx, options)
	if s != nil {
		defer func() { err = errors.Join(err, s.Close()) }()
	}
	var kernel *KernelError
	if err != nil && !errors.As(err, &kernel) {
		return result.Result{}, err
	}
	e := &experiment{session: s, test: result.Arm{Name: result.ArmTest, Scenario: s.config.Scenario}}
	if kernel != nil {
		s.ready(e.test.Preflight)
		e.fail(&e.test, kernel)
	} else if err := e.measure(ctx); err != nil {
		return result.Result{}, err
	}
	r = e.result()
	err = s.Close()
	r.Warnings = append(r.Warnings, s.gone()...)
	return r, err
}

// gone warns of ports that went away or lost their carrier meanwhile: what could not be put back of them.
func (s *Session) gone() (all []result.Warning) {
	real, ok := s.place.(testbed.Real)
	if !ok {
		return nil
	}
	for _, text := range real.Left() {
		all = append(all, result.Warning{Code: "port-lost", Text: text + "."})
	}
	return all
}

const (
	// controlTries is how often a control whose guards failed is measured.
	controlTries = 4
)

// ready tells the effective configuration, as far as it is known.
func (s *Session) ready(pf result.Preflight) {
	if s.options.Ready == nil {
		return
	}
	host, guest := s.facts()
	s.options.Ready(s.config, host, guest, pf)
}

// facts are the machine and, where one came up, the guest.
func (s *Session) facts() (result.Host, *result.Guest) {
	if s.place == nil {
		return testbed.HostFacts(), nil
	}
	return s.place.Host(), s.place.Guest()
}

// experiment is one Run under way.
type experiment struct {
	session *Session
	test    result.Arm
	control *result.Arm
	broken  bool // the kernel failed: nothing more can be measured
}

func (e *experiment) measure(ctx context.Context) error {
	s := e.session
	e.test.Preflight = s.Preflight(e.test.Scenario)
	s.ready(e.test.Preflight)
	needed := s.config.Scenario.Runs.Needed()
	for !e.broken && judge.Next(s.config, e.arms()) {
		s.options.Progress(fmt.Sprintf("test arm: run %d (clean runs that tell a good kernel: %d)", len(e.test.Runs)+1, needed))
		if err := e.once(ctx, &e.test); err != nil {
			return err
		}
	}
	return e.measureControl(ctx)
}

// measureControl measures the arm that must be BAD here, so that "nothing was dropped" means something.
func (e *experiment) measureControl(ctx context.Context) error {
	s := e.session
	if e.broken || s.config.NoControl || len(s.config.Scenario.Control) == 0 {
		return nil
	}
	sc, err := e.controlScenario()
	if err != nil {
		return &UsageError{Err: err}
	}
	e.control = &result.Arm{Name: result.ArmControl, Scenario: sc, Preflight: s.Preflight(sc)}
	for try := 0; try < controlTries && !e.broken && !lastValid(*e.control); try++ {
		s.options.Progress("positive control: an arm that must be bad here")
		if err := e.once(ctx, e.control); err != nil {
			return err
		}
	}
	return nil
}

// controlScenario is the scenario's own control or, where the kernel has no netem, the weaker one.
func (e *experiment) controlScenario() (scenarios.Scenario, error) {
	sc, err := e.session.config.Scenario.ControlArm()
	sc = e.session.settleSenders(sc)
	if err != nil || sc.Orphan != scenarios.OrphanNetem || !e.session.place.Lacks("sch_netem") {
		return sc, err
	}
	return e.session.shortQueue(sc), nil
}

// shortQueue is the weaker control: a queue so short, and so many senders, that drops show even with
// back-pressure. They must want twice the room there is.
func (s *Session) shortQueue(sc scenarios.Scenario) scenarios.Scenario {
	sc.Orphan = scenarios.OrphanNone
	sc.Topology.Slaves.TxQueueLen = 8
	pf := s.Preflight(sc)
	room := pf.Room()
	sc.Traffic.Senders = max(sc.Traffic.Senders, scenarios.Senders(2*room/max(1, pf.PerSender)+1))
	return sc
}

func lastValid(arm result.Arm) bool {
	return len(arm.Runs) > 0 && arm.Runs[len(arm.Runs)-1].Judgement.Valid
}

// once measures an arm and has the run judged. A kernel that fails meanwhile is recorded.
func (e *experiment) once(ctx context.Context, arm *result.Arm) error {
	s := e.session
	rec, err := s.Measure(ctx, arm.Name, arm.Scenario)
	if arm == e.control && measure.LacksNetem(err) { // a kernel whose files did not tell
		arm.Scenario = s.shortQueue(arm.Scenario)
		arm.Preflight = s.Preflight(arm.Scenario)
		rec, err = s.Measure(ctx, arm.Name, arm.Scenario)
	}
	var kernel *KernelError
	if errors.As(err, &kernel) {
		e.fail(arm, kernel)
		return nil
	}
	if err != nil {
		return err
	}
	arm.Runs = append(arm.Runs, result.Run{Recording: rec, Judgement: judge.Run(arm.Scenario, arm.Preflight, rec)})
	return nil
}

func (e *experiment) fail(arm *result.Arm, kernel *KernelError) {
	e.broken = true
	rec := result.Recording{Arm: arm.Name, Started: time.Now(), Failure: kernel.Reason}
	arm.Runs = append(arm.Runs, result.Run{Recording: rec, Judgement: judge.Run(arm.Scenario, arm.Preflight, rec)})
}

func (e *experiment) arms() []result.Arm {
	arms := []result.Arm{e.test}
	if e.control != nil {
		arms = append(arms, *e.control)
	}
	return arms
}

func (e *experiment) result() result.Result {
	s := e.session
	r := result.Result{
		Schema: result.Schema, Tool: "bondrepro " + s.options.Version, Created: time.Now().UTC(),
		Config: s.config, Arms: e.arms(),
	}
	r.Host, r.Guest = s.facts()
	if s.place != nil {
		r.Warnings = complaints(s.place.Complaints())
	}
	return judge.Again(r)
}

// complaints warns of what the kernel itself reported while it was measured: it may explain what was seen.
func complaints(lines []string) []result.Warning {
	if len(lines) == 0 {
		return nil
	}
	return []result.Warning{{Code: "kernel-complaints", Text: fmt.Sprintf("The kernel reported a fault of its own while it was measured: %s", strings.Join(lines, " / "))}}
}
