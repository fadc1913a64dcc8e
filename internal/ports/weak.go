package ports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bondrepro/reproducer/result"
)

// complaint is the sentence and the command of a Weakness. Where no command mends it, the sentence tells what to do. The zero
// value is none.
type complaint struct{ text, command string }

var (
	ofMachine = []struct {
		code string
		why  func(m Machine) complaint
	}{
		{"irqbalance", irqbalance},
		{"governor", governor},
		{"aspm", aspm},
		{"cpus", fewCPUs},
	}
	ofPort = []struct {
		code string
		why  func(f Facts, m Machine, a Ask) complaint
	}{
		{"virtual", noLine},
		{"slave_down", slaveDown},
		{"speed_unknown", onTrust},
		{"flow_control", flowControl},
		{"mtu", pathMTU},
		{"bql", noBQL},
		{"bql_unknown", bqlUnknown},
		{"xps", xps},
		{"irq", irqsOnOneCPU},
	}
	ofAll = []struct {
		code, what string
		of         func(f Facts) string
	}{
		{"speeds_differ", "speeds", func(f Facts) string { return speed(f) }},
		{"drivers_differ", "drivers", func(f Facts) string { return f.Driver }},
		{"firmware_differs", "firmware", func(f Facts) string { return f.Firmware }},
	}
)

// Weaknesses tells what would make a verdict from these ports weak, the machine's own first. With Ask.Bond the facts are
// the bond's, of which nothing is said, and its slaves'.
func Weaknesses(all []Facts, m Machine, a Ask) []Weakness {
	var weak []Weakness
	add := func(port, code string, c complaint) {
		if c.text != "" {
			weak = append(weak, Weakness{Interface: port, Code: code, Text: c.text, Command: c.command})
		}
	}
	for _, r := range ofMachine {
		add("", r.code, r.why(m))
	}
	slaves := slices.DeleteFunc(slices.Clone(all), func(f Facts) bool { return f.Kind == "bond" || f.Link != "ether" })
	for _, f := range slaves {
		for _, r := range ofPort {
			add(f.Name, r.code, r.why(f, m, a))
		}
	}
	for _, r := range ofAll {
		add("", r.code, differ(slaves, r.what, r.of))
	}
	return weak
}

func irqbalance(m Machine) complaint {
	if !m.Irqbalance {
		return complaint{}
	}
	return complaint{"irqbalance runs: it moves the ports' interrupts to other CPUs in the middle of a run", "systemctl stop irqbalance"}
}

func governor(m Machine) complaint {
	slow := slices.DeleteFunc(slices.Clone(m.Governors), func(g string) bool { return g == "performance" })
	if len(slow) == 0 {
		return complaint{}
	}
	return complaint{"the CPUs' frequency is governed by " + strings.Join(slow, ", ") + ": the same sender is faster in one run than in the next", "cpupower frequency-set -g performance"}
}

func aspm(m Machine) complaint {
	if m.ASPM != "powersave" && m.ASPM != "powersupersave" {
		return complaint{}
	}
	return complaint{"PCIe saves power (" + m.ASPM + "): the ports' links to the CPU sleep between bursts", "echo performance > /sys/module/pcie_aspm/parameters/policy"}
}

// enoughCPUs leaves one each to a sender, to the sampler, to interrupts, and to everybody else.
const enoughCPUs = 4

func fewCPUs(m Machine) complaint {
	if m.CPUs >= enoughCPUs {
		return complaint{}
	}
	return complaint{text: fmt.Sprintf("there are no more than %s: senders, the sampler and the ports' interrupts wait for each other; a machine with %d or more, or slower ports, help",
		result.Plural(m.CPUs, "CPU"), enoughCPUs)}
}

func noLine(f Facts, _ Machine, _ Ask) complaint {
	if !f.Virtual {
		return complaint{}
	}
	return complaint{text: f.Name + " is virtual (" + kindOf(f) + "): the speed it tells is no line's; name a real port"}
}

func slaveDown(f Facts, _ Machine, a Ask) complaint {
	if !a.Bond || linked(f) {
		return complaint{}
	}
	return complaint{f.Name + ", a slave of " + f.Master + ", has no link: nothing goes out of it", "ip link set " + f.Name + " up; ethtool " + f.Name}
}

func onTrust(f Facts, _ Machine, a Ask) complaint {
	if f.SpeedMbit > 0 || !linked(f) || a.LineRate == 0 {
		return complaint{}
	}
	return complaint{f.Name + " tells no speed: the line rate that the scenario names is taken on trust", "ethtool " + f.Name}
}

// flowControl speaks of obeying only: what the port tells the far end does not hold up what it sends.
func flowControl(f Facts, _ Machine, _ Ask) complaint {
	if f.Pause == nil || !f.Pause.RX {
		return complaint{}
	}
	return complaint{f.Name + " obeys pause frames: the far end can hold the line below its rate", "ethtool -A " + f.Name + " autoneg off rx off tx off"}
}

// ipHeaders is what IPv4 and ICMP (or UDP) put before a payload.
const ipHeaders = 28

func pathMTU(f Facts, _ Machine, a Ask) complaint {
	if a.Bond || a.MTU <= f.MTU {
		return complaint{}
	}
	return complaint{fmt.Sprintf("%s has MTU %d and a run sets it to %d: a switch or far end that takes no such frames drops them", f.Name, f.MTU, a.MTU),
		fmt.Sprintf("ip link set %s mtu %d; ping -M do -s %d -I %s FAR-END", f.Name, a.MTU, a.MTU-ipHeaders, f.Name)}
}

// usedBQL tells whether the driver was seen to tell BQL what it completed: the limit is 0 until then (dql_completed,
// lib/dynamic_queue_limits.c).
func usedBQL(f Facts) bool {
	return slices.ContainsFunc(f.Queues, func(q result.PortQueue) bool { return q.BQL != nil && q.BQL.Limit > 0 })
}

// enoughTraffic is how many packets a port with BQL can't have sent without a limit.
const enoughTraffic = 1000

func noBQL(f Facts, _ Machine, _ Ask) complaint {
	if result.CountsCompletions(f.Driver) || usedBQL(f) || f.TxPackets < enoughTraffic {
		return complaint{}
	}
	return complaint{text: f.Name + "'s driver (" + f.Driver + ") does not use byte queue limits: packets in its ring can't be counted, so the oracle for lost back-pressure is not available; name ports of a driver that does (igb, ixgbe, i40e, ice, mlx5_core, bnxt_en, tg3 do)"}
}

func bqlUnknown(f Facts, _ Machine, _ Ask) complaint {
	if result.CountsCompletions(f.Driver) || usedBQL(f) || f.TxPackets >= enoughTraffic {
		return complaint{}
	}
	return complaint{f.Name + " sent too little so far to tell whether its driver (" + f.Driver + ") uses byte queue limits, which the oracle for lost back-pressure needs: the limit is not 0 after some traffic where it does",
		"cat /sys/class/net/" + f.Name + "/queues/tx-*/byte_queue_limits/limit"}
}

func xps(f Facts, m Machine, _ Ask) complaint {
	if len(f.Queues) < 2 || m.CPUs < 2 || !slices.ContainsFunc(f.Queues, func(q result.PortQueue) bool { return q.XPS != "" }) {
		return complaint{}
	}
	var cpus cpuSet
	for _, q := range f.Queues {
		cpus.addMask(q.XPS)
	}
	switch len(cpus) {
	case 0:
		return complaint{f.Name + " has no XPS: a hash picks the TX queue, and several senders may meet in one", spreadXPS(f, m)}
	case 1:
		return complaint{f.Name + "'s XPS names one CPU for all TX queues", spreadXPS(f, m)}
	}
	return complaint{}
}

// spreadXPS deals the CPUs out to the queues.
func spreadXPS(f Facts, m Machine) string {
	var deal strings.Builder
	fmt.Fprintf(&deal, "cd /sys/class/net/%s/queues", f.Name)
	for q := range f.Queues {
		var cpus cpuSet
		for cpu := q % m.CPUs; cpu < m.CPUs; cpu += len(f.Queues) {
			cpus.add(cpu)
		}
		fmt.Fprintf(&deal, " && echo %s > tx-%d/xps_cpus", cpus.mask(), q)
	}
	return deal.String()
}

// notForTX are the parts of interrupts' names, in lower case, that tell that no transmission is behind them.
var notForTX = []string{"-rx", "input", "config", "async", "control", "ptp", "misc"}

func irqsOnOneCPU(f Facts, m Machine, _ Ask) complaint {
	var numbers []string
	var cpus cpuSet
	for _, irq := range f.IRQs {
		name := strings.ToLower(irq.Name)
		if slices.ContainsFunc(notForTX, func(part string) bool { return strings.Contains(name, part) }) {
			continue
		}
		numbers = append(numbers, strconv.Itoa(irq.Number))
		if irq.Effective != "" {
			cpus.addList(irq.Effective)
		} else {
			cpus.addList(irq.Affinity)
		}
	}
	if len(numbers) < 2 || len(f.Queues) < 2 || m.CPUs < 2 || len(cpus) != 1 {
		return complaint{}
	}
	return complaint{f.Name + "'s TX interrupts all go to one CPU", fmt.Sprintf(
		"c=0; for n in %s; do echo $c > /proc/irq/$n/smp_affinity_list; c=$(((c+1)%%%d)); done", strings.Join(numbers, " "), m.CPUs)}
}

func speed(f Facts) string {
	if f.SpeedMbit == 0 {
		return ""
	}
	return fmt.Sprintf("%d Mbit/s", f.SpeedMbit)
}

// differ tells of ports that are not alike; one that does not tell is like any.
func differ(ports []Facts, what string, of func(Facts) string) complaint {
	var seen, each []string
	for _, f := range ports {
		value := of(f)
		if value == "" {
			continue
		}
		each = append(each, f.Name+" "+value)
		if !slices.Contains(seen, value) {
			seen = append(seen, value)
		}
	}
	if len(seen) < 2 {
		return complaint{}
	}
	return complaint{text: "the ports' " + what + " differ (" + strings.Join(each, ", ") + "): what one of them does is not what the others do; name ports that are alike"}
}
