package scenarios

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// bounds is a field that takes numbers from min to max, both included.
type bounds struct {
	path     string
	value    func(*Scenario) (float64, bool) // false: the field is not set
	min, max float64
	format   func(float64) string
	why      string // a full clause, or ""
}

// number is how a bound and a value are written.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func duration(v float64) string { return time.Duration(v).String() }

func always(f func(*Scenario) float64) func(*Scenario) (float64, bool) {
	return func(s *Scenario) (float64, bool) { return f(s), true }
}

// sometimes is a field that is a pointer.
func sometimes[T int | Duration](f func(*Scenario) *T) func(*Scenario) (float64, bool) {
	return func(s *Scenario) (float64, bool) {
		p := f(s)
		if p == nil {
			return 0, false
		}
		return float64(*p), true
	}
}

// maxMS is the longest interval the bonding driver takes, INT_MAX milliseconds.
const maxMS = float64(math.MaxInt32) * float64(time.Millisecond)

// maxSlaves is the most that a bond here has.
const maxSlaves = 8

// maxVLAN is the greatest id of a VLAN: 4095 is reserved (IEEE 802.1Q; vlan_dev_ioctl and vlan_validate, net/8021q).
const maxVLAN = 4094

var ranges = []bounds{
	{"topology.slaves.count", always(func(s *Scenario) float64 { return float64(s.Topology.Slaves.Count) }), 1, maxSlaves, number, ""},
	{"topology.slaves.txqueuelen", always(func(s *Scenario) float64 { return float64(s.Topology.Slaves.TxQueueLen) }), 1, 1e6, number,
		"a queue of 0 packets drops whatever is sent"},
	{"topology.slaves.queues", always(func(s *Scenario) float64 { return float64(s.Topology.Slaves.Queues) }), 1, 16, number, ""},
	{"topology.mtu", always(func(s *Scenario) float64 { return float64(s.Topology.MTU) }), 68, loopbackMTU, number, ""},
	{"topology.vlan", always(func(s *Scenario) float64 { return float64(s.Topology.VLAN) }), 0, maxVLAN, number, "0 is no VLAN"},
	{"topology.bond.updelay", sometimes(func(s *Scenario) *Duration { return s.Topology.Bond.Updelay }), 0, maxMS, duration, ""},
	{"topology.bond.downdelay", sometimes(func(s *Scenario) *Duration { return s.Topology.Bond.Downdelay }), 0, maxMS, duration, ""},
	{"topology.bond.resend_igmp", sometimes(func(s *Scenario) *int { return s.Topology.Bond.ResendIGMP }), 0, 255, number, ""},
	{"topology.bond.num_grat_arp", sometimes(func(s *Scenario) *int { return s.Topology.Bond.NumGratARP }), 0, 255, number, ""},
	{"topology.bond.packets_per_slave", sometimes(func(s *Scenario) *int { return s.Topology.Bond.PacketsPerSlave }), 0, 65535, number, ""},
	{"topology.bond.primary", sometimes(func(s *Scenario) *int { return s.Topology.Bond.Primary }), 0, maxSlaves - 1, number,
		"it is a slave's number, counted from 0"},
	{"topology.bond.min_links", sometimes(func(s *Scenario) *int { return s.Topology.Bond.MinLinks }), 0, maxSlaves, number, ""},

	{"traffic.port", always(func(s *Scenario) float64 { return float64(s.Traffic.Port) }), 1, 65535, number, ""},
	{"traffic.payload", always(func(s *Scenario) float64 { return float64(s.Traffic.Payload) }), headerBytes, 65507, number,
		fmt.Sprintf("each packet carries our header of %d bytes", headerBytes)},
	{"traffic.senders", func(s *Scenario) (float64, bool) { return float64(s.Traffic.Senders), s.Traffic.Senders != AutoSenders }, 1, 4096, number, ""},
	{"traffic.burst.packets", always(func(s *Scenario) float64 { return float64(s.Traffic.Burst.Packets) }), 0, 1e6, number, ""},
	{"traffic.burst.every", always(func(s *Scenario) float64 { return float64(s.Traffic.Burst.Every) }), float64(time.Millisecond), float64(time.Minute), duration, ""},
	{"traffic.batch", always(func(s *Scenario) float64 { return float64(s.Traffic.Batch) }), 1, 1024, number,
		"sendmmsg(2) takes no more (UIO_MAXIOV)"},
	{"traffic.duration", always(func(s *Scenario) float64 { return float64(s.Traffic.Duration) }), float64(10 * time.Millisecond), float64(time.Hour), duration, ""},
	{"traffic.warmup", always(func(s *Scenario) float64 { return float64(s.Traffic.Warmup) }), 0, float64(time.Hour), duration, ""},
	{"traffic.socket.priority", always(func(s *Scenario) float64 { return float64(s.Traffic.Socket.Priority) }), 0, 15, number,
		"pfifo_fast maps 16 priorities to its bands; 7 and more need CAP_NET_ADMIN"},
	{"traffic.socket.gso", always(func(s *Scenario) float64 { return float64(s.Traffic.Socket.GSO) }), 0, 64, number,
		"it counts segments a send, and kernels before 6.9 take no more"},

	{"load.connections", always(func(s *Scenario) float64 { return float64(s.Load.Connections) }), 1, 1024, number, ""},
	{"load.write", always(func(s *Scenario) float64 { return float64(s.Load.Write) }), 1, 16 << 20, number, ""},
	{"load.request", always(func(s *Scenario) float64 { return float64(s.Load.Request) }), 1, 16 << 20, number, ""},
	{"load.response", always(func(s *Scenario) float64 { return float64(s.Load.Response) }), 1, 16 << 20, number, ""},
	{"load.payload", always(func(s *Scenario) float64 { return float64(s.Load.Payload) }), 1, maxMessage, number, ""},

	{"sampling.interval", always(func(s *Scenario) float64 { return float64(s.Sampling.Interval) }), float64(time.Millisecond), float64(time.Minute), duration, ""},
	{"guards.line_tolerance", always(func(s *Scenario) float64 { return s.Guards.LineTolerance }), 0.001, 0.5, number,
		"it is a share of the line rate"},
	{"runs.max", always(func(s *Scenario) float64 { return float64(s.Runs.Max) }), 1, 1000, number, ""},
}

func rangeRule(s *Scenario) *problem {
	for _, b := range ranges {
		v, set := b.value(s)
		if !set || v >= b.min && v <= b.max {
			continue
		}
		why := b.why
		if why != "" {
			why = "; " + why
		}
		return bad(b.path, "%s is not possible; allowed are %s to %s%s", b.format(v), b.format(b.min), b.format(b.max), why)
	}
	return nil
}
