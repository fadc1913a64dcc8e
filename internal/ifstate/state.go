package ifstate

import "bondrepro/internal/qdisctree"

// State is everything of some interfaces that building a bond of them changes. It goes to a file as JSON.
type State struct {
	BootID     string      `json:"boot_id"` // /proc/sys/kernel/random/boot_id
	Taken      float64     `json:"taken"`   // seconds of CLOCK_BOOTTIME: what is left of an address's lifetime counts from then
	Interfaces []Interface `json:"interfaces"`
}

// Interface is one interface. Other interfaces are named by the names they had.
type Interface struct {
	Ifindex      int    `json:"ifindex"`
	Name         string `json:"name"`
	Named        bool   `json:"named"`         // Capture was asked for it by name; else it came along
	PermanentMAC string `json:"permanent_mac"` // empty where the device has none
	Kind         string `json:"kind"`          // IFLA_INFO_KIND: bond, vlan, …; empty for hardware
	MasterKind   string `json:"master_kind"`   // of its master, "openvswitch" where it says so; empty without one
	MAC          string `json:"mac"`
	MTU          int    `json:"mtu"`
	TxQueueLen   int    `json:"txqueuelen"`
	Flags        uint32 `json:"flags"` // IFF_*, those of settable
	Group        uint32 `json:"group"`
	LinkMode     uint8  `json:"link_mode"`
	Carrier      bool   `json:"carrier"`
	OperState    string `json:"oper_state"`
	Master       string `json:"master"` // empty for none
	XDP          bool   `json:"xdp"`    // an XDP program is attached
	// Children are interfaces on top of this one that are no masters: VLANs, macvlans, …, as "name (kind)".
	Children []string `json:"children"`

	Slave *Slave `json:"slave,omitempty"` // of a bond
	Bond  *Bond  `json:"bond,omitempty"`  // it is one

	Addresses   []Message          `json:"addresses"`
	Tentative   []string           `json:"tentative"` // addresses whose duplicates are looked for, or were found
	Routes      []Message          `json:"routes"`
	Neighbours  []Message          `json:"neighbours"` // permanent and proxy entries
	Multicast   []string           `json:"multicast"`  // link-layer addresses that somebody set (`ip maddr add`)
	Memberships []string           `json:"memberships"`
	Features    map[string]Feature `json:"features"` // by the kernel's name, as `ethtool -k`
	Channels    *Channels          `json:"channels,omitempty"`
	Sysctls     map[string]string  `json:"sysctls"` // path below /proc/sys/net with %s for the name: value
	Qdiscs      qdisctree.Tree     `json:"qdiscs"`
}

// Slave is what an interface has of its bond.
type Slave struct {
	MAC     string `json:"mac"` // its own, which it gets back when it leaves the bond
	QueueID string `json:"queue_id"`
	Prio    *int32 `json:"prio,omitempty"` // since Linux 6.0
}

// Bond is what a bond has of its own.
type Bond struct {
	Slaves  []string          `json:"slaves"`  // in the kernel's order
	Options map[string]string `json:"options"` // the files of /sys/class/net/BOND/bonding that can be written
}

// Message is one address, route or neighbour.
type Message struct {
	// Text is it as ip(8) writes it, complete: two messages with one text are the same.
	Text string `json:"text"`
	// Raw is the payload of the rtnetlink message that makes it: a header and attributes. Interfaces are in it by
	// the indices they had.
	Raw []byte `json:"raw"`
}

// Feature is one offload feature.
type Feature struct {
	Active    bool `json:"active"`
	Requested bool `json:"requested"`
	Available bool `json:"available"` // it can be changed
}

// Channels are the numbers of a device's channels that are in use, as `ethtool -l`.
type Channels struct {
	Rx       uint32 `json:"rx"`
	Tx       uint32 `json:"tx"`
	Other    uint32 `json:"other"`
	Combined uint32 `json:"combined"`
}

// Made is an interface that we made.
type Made struct {
	Name    string `json:"name"`
	Ifindex int    `json:"ifindex"`
}

// Leftover is one thing that is not as it was.
type Leftover struct {
	Interface string `json:"interface"`
	What      string `json:"what"` // "mtu", "route", "sysctl net.ipv4.conf.eth0.rp_filter"
	Want      string `json:"want"` // empty: there was no such thing
	Got       string `json:"got"`  // empty: there is no such thing
	Err       string `json:"err"`  // why it could not be put back; empty where nothing was refused
	Gone      bool   `json:"gone"` // the interface does not exist any more
	// Link tells that the interface has lost its carrier, and that this comes by itself when it has one again.
	Link bool `json:"link"`
}

// Problem is something that could not be put back exactly.
type Problem struct {
	Interface string
	What      string
}

// String is the problem in one line.
func (p Problem) String() string { return p.Interface + ": " + p.What }

func (s State) find(name string) *Interface {
	for i := range s.Interfaces {
		if s.Interfaces[i].Name == name {
			return &s.Interfaces[i]
		}
	}
	return nil
}
