package bondctl

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"bondrepro/internal/xmithash"
)

// Flow is UDP datagrams that the driver can't tell apart: unfragmented, without a VLAN tag, in no tunnel.
type Flow struct {
	Source         netip.Addr `json:"source,omitzero"`           // zero: the bond's only address of that family
	SourcePort     uint16     `json:"source_port,omitempty"`     // layer3+4 needs it
	Destination    netip.Addr `json:"destination"`               // a group, or a host whose DestinationMAC is given
	Port           uint16     `json:"port"`                      // the destination's
	DestinationMAC string     `json:"destination_mac,omitempty"` // of a host: the next hop's
}

// PredictedFlow is a flow and the slave it takes; several in a mode that sends more than one copy or takes turns.
type PredictedFlow struct {
	Flow
	Slaves []string `json:"slaves"`
}

// Prediction is which slave each flow takes as the bond is now.
type Prediction struct {
	Bond   string `json:"bond"`
	Kernel string `json:"kernel"` // the running one's release
	Mode   string `json:"mode"`
	Policy string `json:"xmit_hash_policy,omitempty"` // where a hash decides
	// Formula names the kernels whose computation was used, chosen by the release's number.
	Formula string `json:"formula,omitempty"`
	How     string `json:"how"` // how the mode chooses, in words
	// Slaves are those that can send, in the order in which they were enslaved (bond->usable_slaves).
	Slaves []string        `json:"slaves"`
	Flows  []PredictedFlow `json:"flows"`
}

// choosers are the modes, with how each chooses among the slaves that can send: nil is the hash's.
var choosers = map[string]struct {
	how    string
	choose func(ShownBond) []string
}{
	"active-backup": {"the active slave takes everything", func(b ShownBond) []string { return onlyOne(b.ActiveSlave) }},
	"broadcast":     {"every slave sends a copy of everything", usableSlaves},
	"balance-rr":    {"slaves take turns, packet by packet", usableSlaves},
	"balance-xor":   {how: "the hash of each packet, modulo the number of slaves that can send"},
	"802.3ad":       {how: "the hash of each packet, modulo the number of the active aggregator's slaves that distribute"},
}

// Predict computes which slave of the named bond each flow will take, as the kernel of that Show does
// (drivers/net/bonding/bond_main.c). It fails in a mode or with a policy that can't be predicted, where no slave can
// send, and where a flow lacks what the policy looks at.
func Predict(s Show, bond string, flows []Flow) (Prediction, error) {
	b, err := s.bond(bond)
	if err != nil {
		return Prediction{}, err
	}
	mode, known := choosers[b.Mode]
	policy := b.Options["xmit_hash_policy"]
	if why := xmithash.Why(b.Mode, policy); why != "" && mode.choose == nil {
		return Prediction{}, fmt.Errorf("%s: %s: this can't be predicted", b.Name, why)
	}
	p := Prediction{Bond: b.Name, Kernel: s.Kernel, Mode: b.Mode, How: mode.how, Slaves: usableSlaves(b), Flows: []PredictedFlow{}}
	if !known || len(p.Slaves) == 0 {
		return Prediction{}, fmt.Errorf("%s: no slave can send: each must be up, with carrier, MII status UP and state ACTIVE", b.Name)
	}
	choose := func(Flow) ([]string, error) { return mode.choose(b), nil }
	if mode.choose == nil {
		h, err := newHasher(s.Kernel, b, p.Slaves)
		if err != nil {
			return Prediction{}, err
		}
		choose, p.Policy, p.Formula = h.choose, policy, h.formula.Kernels
	}
	for _, f := range flows {
		if f, err = b.complete(f); err != nil {
			return Prediction{}, err
		}
		slaves, err := choose(f)
		if err != nil {
			return Prediction{}, fmt.Errorf("%s: %s looks at what the flow to %v lacks: %w", b.Name, policy, f.Destination, err)
		}
		p.Flows = append(p.Flows, PredictedFlow{Flow: f, Slaves: slaves})
	}
	return p, nil
}

// usableSlaves are the slaves of bond->usable_slaves (bond_update_slave_arr): those that bond_slave_can_tx, in mode 802.3ad of
// the active aggregator alone. A port that does not distribute is a BACKUP.
func usableSlaves(b ShownBond) (names []string) {
	for _, s := range b.Slaves {
		ours := b.Mode != "802.3ad" || b.LACP != nil && s.Aggregator == b.LACP.Aggregator
		if ours && s.Up && s.Carrier && s.MIIStatus == "UP" && s.State == "ACTIVE" {
			names = append(names, s.Name)
		}
	}
	return names
}

func onlyOne(slave string) []string {
	if slave == "" {
		return nil
	}
	return []string{slave}
}

// complete adds the source the kernel will take, where there is only one, and refuses a host without its MAC.
func (b ShownBond) complete(f Flow) (Flow, error) {
	f.Source, f.Destination = f.Source.WithZone(""), f.Destination.WithZone("")
	if !f.Destination.IsMulticast() && f.DestinationMAC == "" {
		return f, fmt.Errorf("%s: %v is no multicast group: the MAC address that its frames go to is needed", b.Name, f.Destination)
	}
	if f.DestinationMAC != "" {
		if _, err := xmithash.ParseMAC(f.DestinationMAC); err != nil {
			return f, fmt.Errorf("%s: %w", b.Name, err)
		}
	}
	if f.Source.IsValid() {
		return f, nil
	}
	if own := b.sourcesTo(f.Destination); len(own) == 1 {
		f.Source = own[0]
	}
	return f, nil
}

// sourcesTo are the bond's addresses of the destination's family and, with IPv6, scope (RFC 6724, rule 2).
func (b ShownBond) sourcesTo(to netip.Addr) (own []netip.Addr) {
	onLink := to.IsLinkLocalMulticast() || to.IsLinkLocalUnicast()
	for _, p := range b.Addresses {
		if a := p.Addr(); a.Is4() == to.Is4() && (a.Is4() || a.IsLinkLocalUnicast() == onLink) {
			own = append(own, a)
		}
	}
	return own
}

// hasher chooses slaves by the hash.
type hasher struct {
	formula xmithash.Formula
	policy  string
	mac     xmithash.MAC
	slaves  []string
}

func newHasher(release string, b ShownBond, slaves []string) (h hasher, err error) {
	h.policy, h.slaves = b.Options["xmit_hash_policy"], slaves
	if !b.InOrder {
		return h, fmt.Errorf("%s: the kernel does not tell in which order the slaves were enslaved (/proc/net/bonding), and the hash counts in it", b.Name)
	}
	if h.formula, err = xmithash.OfRelease(release); err != nil {
		return h, fmt.Errorf("%s: %w", b.Name, err)
	}
	if h.mac, err = xmithash.ParseMAC(b.MAC); err != nil {
		return h, fmt.Errorf("%s: %w", b.Name, err)
	}
	return h, nil
}

func (h hasher) choose(f Flow) ([]string, error) {
	flow := xmithash.Flow{
		MAC:   h.mac,
		From:  netip.AddrPortFrom(f.Source, f.SourcePort),
		Group: netip.AddrPortFrom(f.Destination, f.Port),
	}
	if f.DestinationMAC != "" {
		flow.To, _ = xmithash.ParseMAC(f.DestinationMAC) // complete has refused what is none
	}
	i, err := h.formula.Slave(h.policy, flow, len(h.slaves))
	if err != nil {
		return nil, err
	}
	return h.slaves[i : i+1], nil
}

// maxDestinations bounds FIRST+COUNT: as many groups as a /16 has.
const maxDestinations = 1 << 16

// ParseDestinations reads ADDR[,ADDR...] or FIRST+COUNT, which is COUNT addresses in a row.
func ParseDestinations(text string) ([]netip.Addr, error) {
	first, counted, isRange := strings.Cut(text, "+")
	if isRange {
		addr, err := netip.ParseAddr(first)
		if err != nil {
			return nil, fmt.Errorf("%q is no address", first)
		}
		count, err := strconv.Atoi(counted)
		if err != nil || count < 1 || count > maxDestinations {
			return nil, fmt.Errorf("%q is no count from 1 to %d", counted, maxDestinations)
		}
		all := make([]netip.Addr, 0, count)
		for ; len(all) < count; addr = addr.Next() {
			if !addr.IsValid() {
				return nil, fmt.Errorf("%s goes beyond the last address", text)
			}
			all = append(all, addr)
		}
		return all, nil
	}
	var all []netip.Addr
	for word := range strings.SplitSeq(text, ",") {
		addr, err := netip.ParseAddr(word)
		if err != nil {
			return nil, fmt.Errorf("%q is no address", word)
		}
		all = append(all, addr)
	}
	return all, nil
}
