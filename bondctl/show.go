package bondctl

import (
	"fmt"
	"net/netip"
	"slices"
)

// Show is what the kernel tells of the bonds of one network namespace. Its JSON field names are stable; words are
// those of iproute2 (`ip -d link show`).
type Show struct {
	Kernel string      `json:"kernel"` // its release, as `uname -r`
	Bonds  []ShownBond `json:"bonds"`  // by name
}

// ShownBond is one bond.
type ShownBond struct {
	Name        string            `json:"name"`
	Ifindex     int               `json:"ifindex"`
	State       string            `json:"state"`      // operational: UP, DOWN, LOWERLAYERDOWN, …
	MIIStatus   string            `json:"mii_status"` // UP where the bond has carrier, else DOWN
	MTU         int               `json:"mtu"`        // bytes
	MAC         string            `json:"mac"`
	Mode        string            `json:"mode"`
	ActiveSlave string            `json:"active_slave,omitempty"` // of the modes that have one
	Addresses   []netip.Prefix    `json:"addresses,omitempty"`
	Qdiscs      []string          `json:"qdiscs"`  // kinds, the root's first, each once
	Options     map[string]string `json:"options"` // every option the kernel tells, but mode and active_slave
	LACP        *ShownLACP        `json:"lacp,omitempty"`
	// InOrder: Slaves are in the order in which they were enslaved, which the hash counts in. Else the kernel did not
	// tell it (no /proc/net/bonding) and they are by ifindex.
	InOrder bool         `json:"slaves_in_order"`
	Slaves  []ShownSlave `json:"slaves"`
}

// ShownLACP is the active aggregator of a bond in mode 802.3ad (IFLA_BOND_AD_INFO).
type ShownLACP struct {
	Aggregator int    `json:"aggregator"` // the id that a slave's Aggregator is compared with
	Ports      int    `json:"ports"`
	ActorKey   int    `json:"actor_key"`
	PartnerKey int    `json:"partner_key"`
	PartnerMAC string `json:"partner_mac"` // 00:00:00:00:00:00: no partner answers
}

// ShownSlave is one slave of a bond.
type ShownSlave struct {
	Name         string   `json:"name"`
	Ifindex      int      `json:"ifindex"`
	State        string   `json:"state"`      // ACTIVE or BACKUP
	MIIStatus    string   `json:"mii_status"` // UP, GOING_DOWN, DOWN or GOING_BACK
	Up           bool     `json:"up"`         // set up (IFF_UP)
	Carrier      bool     `json:"carrier"`
	MAC          string   `json:"mac"`
	PermanentMAC string   `json:"permanent_mac"`
	LinkFailures int      `json:"link_failure_count"`
	QueueID      int      `json:"queue_id"`
	Priority     *int     `json:"prio,omitempty"` // since Linux 6.0
	Speed        int      `json:"speed"`          // Mbit/s; 0: unknown
	Duplex       string   `json:"duplex"`         // full, half or unknown
	Driver       string   `json:"driver"`         // empty: it has none
	MTU          int      `json:"mtu"`            // bytes
	TxQueues     int      `json:"tx_queues"`
	TxQueueLen   int      `json:"txqueuelen"` // packets
	Qdiscs       []string `json:"qdiscs"`     // kinds, the root's first, each once
	// Of mode 802.3ad: the aggregator's id, and the port's states on both sides in words.
	Aggregator   int      `json:"ad_aggregator_id,omitempty"`
	ActorState   []string `json:"ad_actor_oper_port_state,omitempty"`
	PartnerState []string `json:"ad_partner_oper_port_state,omitempty"`
}

// ReadShow reads the named bonds, or every one of the calling thread's network namespace when none is named. It writes
// nothing and needs no rights. A name that is no bond's is an error; a namespace without bonds is none.
func ReadShow(names ...string) (Show, error) {
	r, err := takeReadings()
	if err != nil {
		return Show{}, err
	}
	return r.show().only(names)
}

// only keeps the named bonds.
func (s Show) only(names []string) (Show, error) {
	for _, name := range names {
		if _, err := s.bond(name); err != nil {
			return Show{}, err
		}
	}
	if len(names) > 0 {
		s.Bonds = slices.DeleteFunc(s.Bonds, func(b ShownBond) bool { return !slices.Contains(names, b.Name) })
	}
	return s, nil
}

func (s Show) bond(name string) (ShownBond, error) {
	i := slices.IndexFunc(s.Bonds, func(b ShownBond) bool { return b.Name == name })
	if i < 0 {
		return ShownBond{}, fmt.Errorf("there is no bond named %s in this network namespace", name)
	}
	return s.Bonds[i], nil
}
