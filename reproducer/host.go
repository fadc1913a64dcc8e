package reproducer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bondrepro/internal/testbed"
	"bondrepro/scenarios"
)

// HostOptions name the real ports that --testbed host measures on, and what their owner allows.
type HostOptions struct {
	Slaves        []string // ports, of which a bond is built; or
	Bond          string   // a bond that is there, measured as it is
	TakeAddresses bool     // addresses of the ports may be taken off and put back
	AllowVirtual  bool     // virtual interfaces may be ports
	Yes           bool     // the bond that is there may be loaded
	Control       bool     // measure the positive control on it, too
	Command       string   // what other commands are told meanwhile
}

// named is the first flag that names ports; empty when none does.
func (h HostOptions) named() string {
	switch {
	case len(h.Slaves) > 0:
		return "--slaves"
	case h.Bond != "":
		return "--bond"
	}
	return ""
}

// check refuses what does not go together. bed is the testbed that is asked for.
func (h HostOptions) check(bed string) error {
	switch {
	case bed != testbedHost && h.named() != "":
		return fmt.Errorf("%s names real ports: --testbed host measures on them", h.named())
	case bed != testbedHost && (h.TakeAddresses || h.AllowVirtual || h.Yes || h.Control):
		return errors.New("--take-addresses, --allow-virtual, --yes and --control are for real ports: --testbed host measures on them")
	case bed != testbedHost:
		return nil
	case h.named() == "":
		return errors.New("--testbed host measures on real ports: name them with --slaves eth1,eth2, or a bond that is there with --bond bond0")
	case len(h.Slaves) > 0 && h.Bond != "":
		return errors.New("--slaves and --bond: a bond is built of ports, or one that is there is measured as it is; name one of them")
	case h.Bond != "" && !h.Yes:
		return fmt.Errorf("--bond %s loads ports that are in use, and whoever uses them loses packets meanwhile: say --yes if that may be", h.Bond)
	case h.Bond == "" && h.Control:
		return errors.New("--control is for --bond; with --slaves the control is measured unless --no-control leaves it out")
	case h.Bond == "" && h.Yes:
		return errors.New("--yes is for --bond: ports of --slaves that are in use are refused")
	}
	for i, name := range h.Slaves {
		if name == "" || slices.Contains(h.Slaves[:i], name) {
			return fmt.Errorf("--slaves %s: each port is to be named, and once", strings.Join(h.Slaves, ","))
		}
	}
	return nil
}

// taken refuses --set of what the ports decide.
func (o Options) taken() error {
	own, why := []string{"topology.slaves.count"}, "--slaves names as many as there are"
	if o.Host.Bond != "" {
		own, why = []string{"topology."}, "--bond "+o.Host.Bond+" is measured as it is"
	}
	for _, assignment := range o.Set {
		for _, prefix := range own {
			if strings.HasPrefix(assignment, prefix) {
				return fmt.Errorf("--set %s can't be honoured: %s; leave it out", assignment, why)
			}
		}
	}
	return nil
}

// ratesOf refuses a control that wants lines of its own.
func (o Options) ratesOf() error {
	if o.NoControl {
		return nil
	}
	control, err := o.Scenario.ControlArm()
	if err != nil {
		return err
	}
	if own := control.Topology.Slaves.LineRate; !slices.Equal(own.BitsPerSecond, o.Scenario.Topology.Slaves.LineRate.BitsPerSecond) {
		return errors.New("the scenario's control sets topology.slaves.line_rate, and real lines are what they are: --no-control leaves it out")
	}
	return nil
}

// onPorts makes the options for ports what they are: a scenario has as many slaves as ports are named, and a bond that is
// there gets no control unless it is asked for.
func (o Options) onPorts() (Options, error) {
	if err := cmp.Or(o.taken(), o.ratesOf()); err != nil {
		return o, err
	}
	if o.Host.Bond != "" {
		o.NoControl = o.NoControl || !o.Host.Control
		return o, o.controlOf()
	}
	o.Scenario.Topology.Slaves.Count = len(o.Host.Slaves)
	if err := o.Scenario.Validate(); err != nil {
		return o, fmt.Errorf("%w (--slaves names %d)", err, len(o.Host.Slaves))
	}
	return o, nil
}

// controlOf refuses a control that would change a bond that is there by more than netem on it.
func (o Options) controlOf() error {
	if o.NoControl {
		return nil
	}
	control, err := o.Scenario.ControlArm()
	if err != nil {
		return err
	}
	part := func(sc scenarios.Scenario) scenarios.Scenario {
		return scenarios.Scenario{Topology: sc.Topology, Offload: sc.Offload, Faults: sc.Faults}
	}
	if !part(control).Equal(part(o.Scenario)) {
		return fmt.Errorf("--bond %s is measured as it is, and the scenario's control sets more than orphan and traffic: leave --control out", o.Host.Bond)
	}
	return nil
}

// hostOptions are those of the testbed.
func hostOptions(o Options) testbed.HostOptions {
	return testbed.HostOptions{
		Slaves: o.Host.Slaves, Bond: o.Host.Bond, TakeAddresses: o.Host.TakeAddresses, AllowVirtual: o.Host.AllowVirtual,
		Control: o.Host.Control, Scenario: o.Scenario, Command: o.Host.Command,
	}
}

// fit makes a scenario say what the place is, where that is not the scenario's to choose.
func (s *Session) fit(sc scenarios.Scenario) scenarios.Scenario {
	if real, ok := s.place.(testbed.Real); ok {
		return real.Fit(sc)
	}
	return sc
}
