package ports

import (
	"strings"
	"testing"

	"bondrepro/reproducer/result"
)

// server is a machine that nothing is to be said against.
func server() Machine {
	return Machine{CPUs: 4, Governors: []string{"performance"}, ASPM: "default"}
}

// scene is what verdicts come from.
type scene struct {
	one, two Facts
	m        Machine
	a        Ask
}

func (s scene) weaknesses() []Weakness { return Weaknesses([]Facts{s.one, s.two}, s.m, s.a) }

func good() scene {
	s := scene{one: tenGig(), two: tenGig(), m: server(), a: Ask{MTU: 9000}}
	s.two.Name = "eth2"
	return s
}

var weak = []struct {
	name, code, port string
	cause, mends     func(s *scene)
	says             string // must be in the sentence or in the command
	advice           bool   // no command mends it: the sentence tells what to do
}{
	{"irqbalance", "irqbalance", "", func(s *scene) { s.m.Irqbalance = true }, func(s *scene) { s.m.Irqbalance = false }, "systemctl stop irqbalance", false},
	{"governor", "governor", "", func(s *scene) { s.m.Governors = []string{"performance", "schedutil"} }, func(s *scene) { s.m.Governors = nil }, "by schedutil:", false},
	{"ASPM", "aspm", "", func(s *scene) { s.m.ASPM = "powersave" }, func(s *scene) { s.m.ASPM = "performance" }, "pcie_aspm", false},
	{"few CPUs", "cpus", "", func(s *scene) { s.m.CPUs = 2 }, func(s *scene) { s.m.CPUs = 4 }, "2 CPUs: senders, the sampler and the ports' interrupts wait for each other; a machine with 4 or more", true},
	{"one CPU", "cpus", "", func(s *scene) { s.m.CPUs = 1 }, func(s *scene) { s.m.CPUs = 4 }, "no more than 1 CPU:", true},
	{"virtual", "virtual", "eth1", func(s *scene) { s.one.Virtual, s.one.Kind = true, "macvlan" }, func(s *scene) { s.one.Virtual = false }, "macvlan", true},
	{"a slave of the bond in use without a link", "slave_down", "eth1", func(s *scene) { s.one.Master, s.a.Bond, s.one.Carrier = "bond0", true, false }, func(s *scene) { s.one.Carrier = true }, "bond0", false},
	{"no speed", "speed_unknown", "eth1", func(s *scene) { s.one.SpeedMbit, s.a.LineRate = 0, 1e9 }, func(s *scene) { s.a.LineRate = 0 }, "trust", false},
	{"flow control", "flow_control", "eth1", func(s *scene) { s.one.Pause = &result.PortPause{RX: true, TX: true} }, func(s *scene) { s.one.Pause = &result.PortPause{TX: true} }, "ethtool -A eth1 autoneg off rx off tx off", false},
	{"flow control of a driver that has none", "flow_control", "eth1", func(s *scene) { s.one.Pause = &result.PortPause{RX: true} }, func(s *scene) { s.one.Pause = nil }, "pause", false},
	{"MTU", "mtu", "eth2", func(s *scene) { s.two.MTU = 1500 }, func(s *scene) { s.a.MTU = 1500 }, "ping -M do -s 8972 -I eth2", false},
	{"BQL", "bql", "eth1", func(s *scene) { s.one.Queues = []result.PortQueue{{BQL: &result.PortBQL{}}} }, func(s *scene) { s.one.Queues[0].BQL.Limit = 1 }, "oracle", true},
	{"BQL that the kernel does not show", "bql", "eth1", func(s *scene) { s.one.Queues = []result.PortQueue{{}} }, func(s *scene) { s.one.Driver, s.two.Driver = "virtio_net", "virtio_net" }, "ixgbe", true},
	{"BQL of a port that sent nothing yet", "bql_unknown", "eth1", func(s *scene) { s.one.Queues, s.one.TxPackets = []result.PortQueue{{}}, 3 }, func(s *scene) { s.one.Queues[0].BQL = &result.PortBQL{Limit: 1} }, "byte_queue_limits", false},
	{"XPS unset", "xps", "eth1", func(s *scene) { s.one.Queues[0].XPS, s.one.Queues[1].XPS = "00000000", "00000000" }, func(s *scene) { s.one.Queues[1].XPS = "00000003" }, "echo 5 > tx-0/xps_cpus && echo a > tx-1/xps_cpus", false},
	{"XPS on one CPU", "xps", "eth1", func(s *scene) { s.one.Queues[0].XPS, s.one.Queues[1].XPS = "00000004", "00000004" }, func(s *scene) { s.one.Queues[1].XPS = "00000001,00000004" }, "one CPU", false},
	{"XPS with one queue", "xps", "eth1", func(s *scene) { s.one.Queues[0].XPS, s.one.Queues[1].XPS = "0", "0" }, func(s *scene) { s.one.Queues = s.one.Queues[:1] }, "no XPS", false},
	{"interrupts on one CPU", "irq", "eth1", func(s *scene) { s.one.IRQs[1].Effective = "0" }, func(s *scene) { s.one.IRQs[1].Effective = "3" }, "for n in 41 42;", false},
	{"interrupts on one CPU, of a kernel that does not tell where they go", "irq", "eth1", func(s *scene) {
		s.one.IRQs[0] = result.PortIRQ{Number: 41, Affinity: "2"}
		s.one.IRQs[1] = result.PortIRQ{Number: 42, Affinity: "2"}
	}, func(s *scene) { s.one.IRQs[0].Affinity = "2-3" }, "one CPU", false},
	{"interrupts on one CPU: those for reception don't count", "irq", "eth1", func(s *scene) {
		s.one.IRQs[1].Effective = "0"
		s.one.IRQs = append(s.one.IRQs, result.PortIRQ{Number: 43, Name: "eth1-rx-0", Effective: "3"})
	}, func(s *scene) { s.one.IRQs[2].Name = "eth1-tx-0" }, "for n in 41 42;", false},
	{"speeds", "speeds_differ", "", func(s *scene) { s.two.SpeedMbit = 1000 }, func(s *scene) { s.two.SpeedMbit = 0 }, "(eth1 10000 Mbit/s, eth2 1000 Mbit/s)", true},
	{"drivers", "drivers_differ", "", func(s *scene) { s.two.Driver = "ice" }, func(s *scene) { s.one.Driver = "ice" }, "(eth1 ixgbe, eth2 ice)", true},
	{"firmware", "firmware_differs", "", func(s *scene) { s.two.Firmware = "1.2" }, func(s *scene) { s.two.Firmware = "" }, "eth2 1.2", true},
	{"not the bond's own", "drivers_differ", "", func(s *scene) { s.two.Driver, s.two.Virtual = "bonding", false }, func(s *scene) { s.two.Kind = "bond" }, "bonding", true},
}

func TestWeaknessesComeAndGoWithTheirCause(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range weak {
		t.Run(c.name, func(t *testing.T) {
			s := good()
			if got := s.weaknesses(); got != nil {
				t.Fatalf("weak before: %+v", got)
			}
			c.cause(&s)
			got := s.weaknesses()
			if len(got) != 1 || got[0].Code != c.code || got[0].Interface != c.port {
				t.Fatalf("weak for %+v, want %s of %q", got, c.code, c.port)
			}
			if text := got[0].Text + "\n" + got[0].Command; !strings.Contains(text, c.says) || (got[0].Command == "") != c.advice || strings.Contains(text, "none:") {
				t.Errorf("it says %q, want %q in it", text, c.says)
			}
			c.mends(&s)
			if got := s.weaknesses(); got != nil {
				t.Errorf("still weak: %+v", got)
			}
		})
		covered[c.code] = true
	}
	for _, code := range allCodes() {
		if !covered[code] {
			t.Errorf("no case has %s", code)
		}
	}
}

// What makes nothing weak.
func TestNotWeak(t *testing.T) {
	for name, set := range map[string]func(s *scene){
		"a port that is refused for good":        func(s *scene) { s.two = Facts{Name: "lo", Link: "loopback", Virtual: true} },
		"the MTU of a bond that is as it is":     func(s *scene) { s.a.Bond, s.one.MTU = true, 1500 },
		"a port that is down, with no speed yet": func(s *scene) { s.one.Carrier, s.one.SpeedMbit, s.a.LineRate = false, 0, 1e9 },
		"XPS of a machine with one CPU":          func(s *scene) { s.one.Queues[0].XPS, s.one.Queues[1].XPS = "1", "1"; s.m.CPUs = 1 },
	} {
		s := good()
		set(&s)
		for _, w := range s.weaknesses() {
			if w.Code != "cpus" {
				t.Errorf("%s: %+v", name, w)
			}
		}
	}
}

func allCodes() []string {
	var all []string
	for _, r := range ofMachine {
		all = append(all, r.code)
	}
	for _, r := range ofPort {
		all = append(all, r.code)
	}
	for _, r := range ofAll {
		all = append(all, r.code)
	}
	return all
}

func TestMasks(t *testing.T) {
	for list, mask := range map[string]string{"": "0", "0": "1", "0-3,8": "10f", "31": "80000000", "32": "1,00000000", "0,64-65": "3,00000000,00000001"} {
		var of, back cpuSet
		of.addList(list)
		if got := of.mask(); got != mask {
			t.Errorf("%s: %s, want %s", list, got, mask)
		}
		back.addMask(mask)
		if len(back) != len(of) || back.mask() != mask {
			t.Errorf("%s: read back as %v", mask, back)
		}
	}
}
