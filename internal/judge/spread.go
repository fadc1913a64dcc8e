package judge

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"bondrepro/internal/xmithash"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// frames is what came out of a slave: at its other end where somebody counts there, else by its driver.
func (f *facts) frames(slave int) int64 {
	s := &f.slaves[slave]
	if f.rec.Wire != nil {
		return s.wireOurs + s.overflow
	}
	return s.tx
}

func (f *facts) sumFrames() (all int64) {
	for i := range f.slaves {
		all += f.frames(i)
	}
	return all
}

// spread is how the frames lay over the slaves, with the prediction for each flow where there can be one. nil where
// there is nothing to compare: one slave, nothing at the wire, every slave meant to have everything (broadcast), or one
// meant to have it (active-backup) and nothing failed over.
func (f *facts) spread() *result.Spread {
	if _, changed := f.slaveChanged(); len(f.slaves) < 2 || f.broadcast() || f.mode() == "active-backup" && !changed {
		return nil
	}
	all := f.sumFrames()
	if all == 0 {
		return nil
	}
	s := &result.Spread{Flows: f.flowsSeen()}
	for i := range f.slaves {
		n := f.frames(i)
		s.Slaves = append(s.Slaves, result.SlaveShare{Name: f.name(i), Frames: uint64(n), Share: float64(n) / float64(all)})
	}
	f.predict(s)
	s.Predicted = s.Why == ""
	return s
}

// flowsSeen are all flows at the wire, by sender and then group, not predicted yet.
func (f *facts) flowsSeen() []result.FlowSpread {
	if f.rec.Wire == nil {
		return nil
	}
	seen := map[[2]int][]uint64{}
	for i, w := range f.rec.Wire.Slaves {
		for _, fl := range w.Flows {
			k := [2]int{fl.Sender, fl.Group}
			if seen[k] == nil {
				seen[k] = make([]uint64, len(f.slaves))
			}
			seen[k][i] += fl.Frames
		}
	}
	keys := make([][2]int, 0, len(seen))
	for k := range seen {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
	var out []result.FlowSpread
	for _, k := range keys {
		out = append(out, result.FlowSpread{Sender: k[0], Group: f.group(k[1]), Predicted: -1, Seen: seen[k]})
	}
	return out
}

// group is the address of a group by its index; "" when the scenario has none of that index.
func (f *facts) group(i int) string {
	if i < 0 || i >= len(f.sc.Traffic.Groups) {
		return ""
	}
	return f.sc.Traffic.Groups[i]
}

// predict sets where the hash policy puts each flow, or why it could not.
//
// A recording does not tell which of the kernel's formulas is in force, and a release would not either:
// distributions carry parts of newer kernels. So the formula that fits the flows best stands, the newest of those
// that fit as well.
func (f *facts) predict(s *result.Spread) {
	if s.Why = f.notPredicted(s.Flows); s.Why != "" {
		return
	}
	var best []int
	fewest := len(s.Flows) + 1
	for i, formula := range xmithash.Formulas {
		slaves, err := f.slavesBy(formula, s.Flows)
		if err != nil {
			s.Why = err.Error()
			return
		}
		if n := wrong(s.Flows, slaves); n < fewest {
			best, fewest, s.Formula, s.Older = slaves, n, formula.Kernels, i > 0
		}
	}
	for i := range s.Flows {
		s.Flows[i].Predicted = best[i]
	}
}

// notPredicted tells why there can be no prediction; "" when there can.
func (f *facts) notPredicted(flows []result.FlowSpread) string {
	if why := xmithash.Why(f.mode(), f.policy()); why != "" {
		return why
	}
	switch {
	case f.rec.Wire == nil:
		return noWire
	case len(flows) == 0:
		return "the recording does not tell flows apart"
	}
	if how, changed := f.slaveChanged(); changed {
		return "the slaves that could send were not the same all the time: " + how
	}
	return ""
}

// slavesBy is the slave of each flow by one formula.
func (f *facts) slavesBy(formula xmithash.Formula, flows []result.FlowSpread) ([]int, error) {
	out := make([]int, len(flows))
	for i, fl := range flows {
		flow, err := f.flow(fl)
		if err != nil {
			return nil, err
		}
		if out[i], err = formula.Slave(f.policy(), flow, len(f.slaves)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// flow is what the driver saw of a flow. What the recording lacks stays zero, and xmithash says so if it needs it.
func (f *facts) flow(fl result.FlowSpread) (xmithash.Flow, error) {
	group, err := netip.ParseAddr(fl.Group)
	if err != nil {
		return xmithash.Flow{}, fmt.Errorf("the group %q of a flow is no address", fl.Group)
	}
	flow := xmithash.Flow{Group: netip.AddrPortFrom(group.WithZone(""), uint16(f.sc.Traffic.Port)), VLAN: uint16(f.sc.Topology.VLAN)}
	flow.MAC, _ = xmithash.ParseMAC(f.rec.Bond.MAC)
	address, _, _ := strings.Cut(f.rec.Bond.Address, "/")
	if from, err := netip.ParseAddr(address); err == nil {
		flow.From = netip.AddrPortFrom(from.WithZone(""), f.port(fl.Sender))
	}
	return flow, nil
}

// port is a sender's own UDP port; 0 when it is not known.
func (f *facts) port(sender int) uint16 {
	for _, s := range f.rec.Senders {
		if s.Index == sender {
			return uint16(s.Port)
		}
	}
	return 0
}

// policy is the bond's xmit_hash_policy: as read back, else as the scenario sets it, else the kernel's default.
func (f *facts) policy() string {
	if p := f.rec.Bond.Options["xmit_hash_policy"]; p != "" {
		return p
	}
	if p := f.sc.Topology.Bond.XmitHashPolicy; p != nil {
		return *p
	}
	return "layer2"
}

// wrong is how many flows strayed from these slaves.
func wrong(flows []result.FlowSpread, slaves []int) (n int) {
	for i, fl := range flows {
		if fl.Strayed(slaves[i]) {
			n++
		}
	}
	return n
}

// hashText is what the hash gives each slave, for the finding that all flows are on one; "" without a prediction.
func (f *facts) hashText(s *result.Spread) string {
	if s == nil || !s.Predicted {
		return ""
	}
	gives := make([]int, len(s.Slaves))
	for _, fl := range s.Flows {
		gives[fl.Predicted]++
	}
	var parts []string
	for i, n := range gives {
		if n == len(s.Flows) {
			return fmt.Sprintf("; the %s hash gives all %d flows to %s", f.policy(), n, s.Slaves[i].Name)
		}
		parts = append(parts, fmt.Sprintf("%d to %s", n, s.Slaves[i].Name))
	}
	return fmt.Sprintf("; although the %s hash gives %s", f.policy(), strings.Join(parts, " and "))
}

// ofSpread are the metrics that a hash policy decides.
var ofSpread = []string{"slaves.used", "slaves.share.max", "slaves.share.min"}

// asHashed tells whether all that failed is how the frames lay over the slaves, and they lay as the hash policy has it:
// then the kernel did what it was told.
func asHashed(s *result.Spread, es []result.Expectation) bool {
	if s == nil || !s.Predicted || strayed(s) > 0 {
		return false
	}
	for _, e := range es {
		if !e.Evaluated || e.OK {
			continue
		}
		x, err := scenarios.ParseExpr(e.Expr)
		if err != nil || slices.ContainsFunc(x.Metrics(), func(name string) bool { return !slices.Contains(ofSpread, name) }) {
			return false
		}
	}
	return true
}

// strayed is how many flows went out of another slave than predicted.
func strayed(s *result.Spread) (n int) {
	for _, fl := range s.Flows {
		if fl.Strayed(fl.Predicted) {
			n++
		}
	}
	return n
}

// shares are the metrics of the spread over slaves and their queues.
func (f *facts) shares(m metrics, s *result.Spread) {
	all, most, least := f.sumFrames(), int64(0), int64(-1)
	for i := range f.slaves {
		n := f.frames(i)
		most = max(most, n)
		if least < 0 || n < least {
			least = n
		}
	}
	m.set("slaves.used", float64(len(f.lines())))
	m.lack(nothingCame, "slaves.share.max", "slaves.share.min")
	if all > 0 {
		m.set("slaves.share.max", float64(most)/float64(all))
		m.set("slaves.share.min", float64(least)/float64(all))
	}
	switch {
	case s == nil:
		m.lack("there is nothing to compare the spread with", "flows.mispredicted")
	case !s.Predicted:
		m.lack("no prediction: "+s.Why, "flows.mispredicted")
	default:
		m.set("flows.mispredicted", float64(strayed(s)))
	}
}

// nothingCame is why there are no shares.
const nothingCame = "no line carried anything"
