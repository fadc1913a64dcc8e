package result

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Port is what was read of one real port (or of an existing bond) before anything was changed on it. What the driver does
// not tell is zero or empty.
type Port struct {
	Name     string `json:"name"`
	Ifindex  int    `json:"ifindex"`
	Driver   string `json:"driver,omitempty"`
	Firmware string `json:"firmware,omitempty"`
	Bus      string `json:"bus,omitempty"`  // the device's address on its bus, as 0000:3b:00.0
	Kind     string `json:"kind,omitempty"` // as `ip -d link` names it: bond, veth, vlan, …; empty for hardware
	Link     string `json:"link"`           // the link layer: ether, loopback, infiniband, …
	Virtual  bool   `json:"virtual,omitempty"`

	Up        bool   `json:"up"`      // set up (IFF_UP)
	Carrier   bool   `json:"carrier"` // not known while it is not up
	SpeedMbit int    `json:"speed_mbit,omitempty"`
	Duplex    string `json:"duplex,omitempty"` // full, half; empty: not known
	MTU       int    `json:"mtu"`
	MaxMTU    int    `json:"max_mtu,omitempty"` // 0: the driver names no limit
	MAC       string `json:"mac,omitempty"`

	Master string   `json:"master,omitempty"`
	Uppers []string `json:"uppers,omitempty"` // what is on it but its master: VLANs, macvlans, …
	// Addresses are those that somebody gave it: link-local IPv6 that the kernel made of the MAC address is left out.
	Addresses    []netip.Prefix `json:"addresses,omitempty"`
	DefaultRoute bool           `json:"default_route,omitempty"`
	DefaultBy    string         `json:"default_by,omitempty"` // the device the route names: the port, or one on it
	// SSH are the far ends of SSH connections to this machine that go through it.
	SSH []string `json:"ssh,omitempty"`

	Rings    *PortRings      `json:"rings,omitempty"`
	Channels *PortChannels   `json:"channels,omitempty"`
	Pause    *PortPause      `json:"pause,omitempty"`
	Queues   []PortQueue     `json:"queues,omitempty"` // for transmission
	IRQs     []PortIRQ       `json:"irqs,omitempty"`
	Offloads map[string]bool `json:"offloads,omitempty"` // as `ethtool -k` names them

	TxPackets uint64 `json:"tx_packets"` // since the driver was loaded
}

// Device tells what a port is made of, as far as its driver tells: ring, firmware, place on its bus.
func (p Port) Device() []string {
	var words []string
	if p.Rings != nil {
		words = append(words, fmt.Sprintf("TX ring %d", p.Rings.TX))
	}
	if p.Firmware != "" {
		words = append(words, "firmware "+p.Firmware)
	}
	if p.Bus != "" {
		words = append(words, p.Bus)
	}
	return words
}

// PortRings are descriptors: what `ethtool -g` shows.
type PortRings struct {
	RX    int `json:"rx"`
	TX    int `json:"tx"`
	RXMax int `json:"rx_max"`
	TXMax int `json:"tx_max"`
}

// PortChannels is what `ethtool -l` shows.
type PortChannels struct {
	RX       int `json:"rx"`
	TX       int `json:"tx"`
	Combined int `json:"combined"`
	// TXMax is how many queues for transmission the port can have.
	TXMax int `json:"tx_max"`
}

// PortPause is flow control (IEEE 802.3x): what `ethtool -a` shows.
type PortPause struct {
	Autoneg bool `json:"autoneg"`
	RX      bool `json:"rx"` // it stops sending when the far end says so
	TX      bool `json:"tx"` // it tells the far end to stop
}

// PortQueue is one queue for transmission.
type PortQueue struct {
	XPS string   `json:"xps,omitempty"` // mask of CPUs, as in xps_cpus; empty with one queue
	BQL *PortBQL `json:"bql,omitempty"` // nil where the kernel shows none
}

// PortBQL are byte queue limits (lib/dynamic_queue_limits.c), in bytes.
type PortBQL struct {
	Limit    int64 `json:"limit"` // 0: nothing was completed through it yet
	LimitMax int64 `json:"limit_max"`
	Inflight int64 `json:"inflight"`
}

// PortIRQ is one interrupt of a port. The affinities are lists of CPUs, as 0-3,8.
type PortIRQ struct {
	Number    int    `json:"number"`
	Name      string `json:"name,omitempty"` // as in /proc/interrupts
	Affinity  string `json:"affinity,omitempty"`
	Effective string `json:"effective,omitempty"` // where it is delivered
}

// Machine is what of the machine has a say in how its ports send.
type Machine struct {
	CPUs       int      `json:"cpus"`
	Irqbalance bool     `json:"irqbalance,omitempty"` // it runs
	Governors  []string `json:"governors,omitempty"`  // of cpufreq, each once; empty where CPUs have one frequency
	ASPM       string   `json:"aspm,omitempty"`       // the policy of PCIe's power saving
}

// Weakness is something that makes a verdict on real ports weak, and the command that mends it.
type Weakness struct {
	Interface string `json:"interface,omitempty"` // empty: the machine's
	Code      string `json:"code"`
	Text      string `json:"text"` // one sentence
	Command   string `json:"command"`
}

// PortCounters are one port's own counters (`ethtool -S`) around one run, by the driver's names. A port's counters
// lag what it sent (see CounterLag): those after the run are read that long after the last packet left.
type PortCounters struct {
	Name     string            `json:"name"`
	WaitedMS float64           `json:"waited_ms"`
	Before   map[string]uint64 `json:"before,omitempty"`
	After    map[string]uint64 `json:"after,omitempty"`
}

// completionDrivers are those whose tx_packets moves when the device is done with a packet, and not when the driver took
// it, so that it can serve as "completed" in the oracle: free_old_xmit_skbs (drivers/net/virtio_net.c), veth_xmit
// (drivers/net/veth.c: the peer's stack has it).
var completionDrivers = []string{"virtio_net", "veth"}

// CountsCompletions tells whether the driver's tx_packets counts what the device is done with.
func CountsCompletions(driver string) bool { return slices.Contains(completionDrivers, driver) }

// defaultLag is for drivers that are not in the table: longer than a second, which is a common period.
const defaultLag = 1500 * time.Millisecond

// lags are drivers whose counters are current, or older than the default. Those that have the device write its counters to
// memory are a second behind: bnxt_en (BNXT_DEF_STATS_COAL_TICKS), tg3 (DEFAULT_STAT_COAL_TICKS), bnx2
// (BNX2_HC_STATS_TICKS). e1000 adds the device's registers up every 2 s (e1000_watchdog).
var lags = map[string]time.Duration{
	"virtio_net": 0,
	"veth":       0,
	"e1000":      2500 * time.Millisecond,
}

// CounterLag is how far behind a port's counters may be: the time to wait before they are read after a run.
func CounterLag(driver string) time.Duration {
	if lag, known := lags[driver]; known {
		return lag
	}
	return defaultLag
}
