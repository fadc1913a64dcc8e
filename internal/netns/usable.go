package netns

import (
	"context"
	"errors"
	"fmt"

	"bondrepro/internal/measure"
	"bondrepro/scenarios"
)

// bonding is looked for before anything is tried: asked for a bond, a kernel loads the module by itself, which then makes
// a bond0 of its own in the initial namespace (max_bonds=1, drivers/net/bonding/bond_main.c). What else it loads by
// itself makes no interface.
var bonding = Module{Name: "bonding", Config: "CONFIG_BONDING"}

// NoBondingError says that the running kernel can make no bond, or can't before something is done.
type NoBondingError struct {
	Release  string
	Presence Presence // NotLoaded, Absent or Unknown
}

func (e *NoBondingError) Error() string {
	switch e.Presence {
	case NotLoaded:
		return "bonding is a module that is not loaded (modprobe bonding max_bonds=0)"
	case Absent:
		return fmt.Sprintf("this kernel (%s) has no bonding", e.Release)
	}
	return fmt.Sprintf("nothing here tells whether this kernel (%s) has bonding, and it is not loaded (modprobe bonding max_bonds=0, outside of a container)", e.Release)
}

// FindBonding is nil where the running kernel can make a bond, else a *NoBondingError. It loads nothing.
func FindBonding() error { return findBonding(ReadRunning("/")) }

func findBonding(k Running) error {
	if p, _ := k.Has(bonding); p != Present {
		return &NoBondingError{Release: k.Release, Presence: p}
	}
	return nil
}

// VLAN makes VLAN interfaces. It is looked for, too, and never loaded: it gives every interface of the machine that filters
// VLANs the id 0 (vlan_device_event, net/8021q/vlan.c).
var VLAN = Module{Name: "8021q", Config: "CONFIG_VLAN_8021Q"}

// NoVLANError says that the running kernel can make no VLAN interface, or can't before something is done.
type NoVLANError struct {
	Release  string
	Presence Presence // NotLoaded, Absent or Unknown
}

func (e *NoVLANError) Error() string {
	switch e.Presence {
	case NotLoaded:
		return "topology.vlan needs 8021q, a module that is not loaded (modprobe 8021q)"
	case Absent:
		return fmt.Sprintf("topology.vlan needs 8021q, which this kernel (%s) has not", e.Release)
	}
	return fmt.Sprintf("topology.vlan needs 8021q: nothing here tells whether this kernel (%s) has it, and it is not loaded (modprobe 8021q, outside of a container)", e.Release)
}

// FindVLAN is nil where the running kernel can make a VLAN interface, else a *NoVLANError. It loads nothing.
func FindVLAN() error { return findVLAN(ReadRunning("/")) }

func findVLAN(k Running) error {
	if p, _ := k.Has(VLAN); p != Present {
		return &NoVLANError{Release: k.Release, Presence: p}
	}
	return nil
}

// UnusableError says, in one sentence without its full stop, why nothing can be measured on the running kernel.
type UnusableError struct{ Err error }

func (e *UnusableError) Error() string { return oneLine(e.Err.Error()) }

// Unwrap gives Err.
func (e *UnusableError) Unwrap() error { return e.Err }

// Usable tells whether this user can measure on the running kernel: nil, or an *UnusableError; *PanicError is our own fault. It tries everything for real, in namespaces that end with it: a bond, veth, tbf, pfifo_fast, clsact with
// matchall. netem is not tried: without it the control is only weaker.
func Usable(ctx context.Context) error {
	if err := FindBonding(); err != nil {
		return &UnusableError{Err: err}
	}
	var ours *PanicError
	if err := try(ctx); errors.As(err, &ours) {
		return err
	} else if err != nil {
		return &UnusableError{Err: err}
	}
	return nil
}

// UsableWithoutBond is Usable for workloads that go over no bond: it tries namespaces only.
func UsableWithoutBond(ctx context.Context) error {
	p, err := Start(ctx, Config{})
	if err == nil {
		err = p.Close()
	}
	var ours *PanicError
	if err == nil || errors.As(err, &ours) {
		return err
	}
	return &UnusableError{Err: err}
}

func try(ctx context.Context) (err error) {
	p, err := Start(ctx, Config{Slaves: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	sc := scenarios.Default()
	sc.Topology.Slaves.Count = len(p.Slaves())
	limited, cancel := context.WithTimeout(ctx, setupLimit)
	defer cancel()
	_, err = p.Probe(limited, measure.Job{Scenario: sc, Slaves: p.Slaves()})
	return err
}
