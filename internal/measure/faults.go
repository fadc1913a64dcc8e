package measure

import (
	"fmt"
	"slices"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/traffic"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// faults are made by the sampling thread, each at the first poll after its time.
type faults struct {
	pending []scenarios.Fault // by time
	client  *bondctl.Client
	group   *traffic.Group
	slaves  []bondctl.Slave
	leaves  []bondctl.Leaf // one a slave
	made    []result.Event
}

func newFaults(sc scenarios.Scenario, p *place, group *traffic.Group) *faults {
	pending := slices.Clone(sc.Faults)
	slices.SortStableFunc(pending, func(a, b scenarios.Fault) int { return int(a.At - b.At) })
	return &faults{pending: pending, client: p.client, group: group, slaves: p.state.Slaves, leaves: p.spec.Leaves()}
}

// due makes every fault whose time has come.
func (f *faults) due(at time.Duration) error {
	for len(f.pending) > 0 && f.pending[0].At.D() <= at {
		next := f.pending[0]
		f.pending = f.pending[1:]
		text, slave, err := f.make(next)
		if err != nil {
			return fmt.Errorf("fault at %v: %w", next.At.D(), err)
		}
		f.made = append(f.made, result.Event{AtMS: milliseconds(at), Kind: result.EventFault, Slave: slave, Text: text})
	}
	return nil
}

func (f *faults) make(x scenarios.Fault) (text string, slave int, err error) {
	switch {
	case x.SlaveDown != nil:
		return "set the slave down, as the scenario asks", *x.SlaveDown, f.client.SetSlave(f.slaves[*x.SlaveDown].Ifindex, false)
	case x.SlaveUp != nil:
		return "set the slave up, as the scenario asks", *x.SlaveUp, f.client.SetSlave(f.slaves[*x.SlaveUp].Ifindex, true)
	case x.ReplaceQdisc != nil:
		s := f.slaves[*x.ReplaceQdisc]
		return "replaced the slave's qdisc, as the scenario asks", *x.ReplaceQdisc, f.client.ReplaceQdisc(s.Ifindex, s.Queues, f.leaves[*x.ReplaceQdisc])
	case x.BypassBond != nil:
		return "sent straight out of the slave, as the scenario asks", *x.BypassBond, f.group.Bypass(f.slaves[*x.BypassBond].Ifindex)
	}
	return "", -1, fmt.Errorf("it names nothing to do")
}
