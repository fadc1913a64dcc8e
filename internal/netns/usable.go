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
	Loadable bool // it is a module that is not loaded
}

func (e *NoBondingError) Error() string {
	if e.Loadable {
		return "bonding is a module that is not loaded (modprobe bonding max_bonds=0)"
	}
	return fmt.Sprintf("this kernel (%s) has no bonding", e.Release)
}

// FindBonding is nil where the running kernel can make a bond, else a *NoBondingError. It loads nothing.
func FindBonding() error { return findBonding(ReadRunning("/")) }

func findBonding(k Running) error {
	switch p, _ := k.Has(bonding); p {
	case Present:
		return nil
	case NotLoaded:
		return &NoBondingError{Release: k.Release, Loadable: true}
	}
	return &NoBondingError{Release: k.Release}
}

// Usable tells whether this user can measure on the running kernel: nil, or an error that is one sentence without its
// full stop. It tries everything for real, in namespaces that end with it: a bond, veth, tbf, pfifo_fast, clsact with
// matchall. netem is not tried: without it the control is only weaker.
func Usable(ctx context.Context) error {
	if err := FindBonding(); err != nil {
		return err
	}
	if err := try(ctx); err != nil {
		return errors.New(oneLine(err.Error()))
	}
	return nil
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
