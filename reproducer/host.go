package reproducer

import (
	"errors"
	"fmt"

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
	}
	return nil
}

// onPorts makes the options for ports what they are: a scenario has as many slaves as ports are named, and a bond that is
// there gets no control unless it is asked for.
func (o Options) onPorts() (Options, error) {
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
	topology := control
	topology.Orphan, topology.Traffic = o.Scenario.Orphan, o.Scenario.Traffic
	if !topology.Equal(o.Scenario) {
		return fmt.Errorf("--bond %s is measured as it is, and the scenario's control sets more than orphan and traffic: leave --control out", o.Host.Bond)
	}
	return nil
}

// hostOptions are those of the testbed.
func hostOptions(o Options) testbed.HostOptions {
	return testbed.HostOptions{
		Slaves: o.Host.Slaves, Bond: o.Host.Bond, TakeAddresses: o.Host.TakeAddresses, AllowVirtual: o.Host.AllowVirtual,
		Scenario: o.Scenario, Command: o.Host.Command,
	}
}

// fit makes a scenario say what the place is, where that is not the scenario's to choose.
func (s *Session) fit(sc scenarios.Scenario) scenarios.Scenario {
	if real, ok := s.place.(testbed.Real); ok {
		return real.Fit(sc)
	}
	return sc
}
