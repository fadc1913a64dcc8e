package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// labels is the width of the header's first column.
const labels = 11

// Header is the effective configuration, printed before anything is measured. guest is nil where the running
// kernel is under test.
func Header(cfg result.Config, host result.Host, guest *result.Guest, pf result.Preflight) string {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			wrap(&b, fmt.Sprintf("%-*s", labels, label), text)
		}
	}
	sc := &cfg.Scenario
	line("scenario", sc.Name+": "+sc.Summary)
	line("set", strings.Join(cfg.Set, ", "))
	line("kernel", kernelText(cfg, host, guest))
	for _, m := range moduleTexts(cfg, guest) {
		line("module", m)
	}
	line("testbed", because(cfg.Testbed, cfg.TestbedWhy))
	line("machine", machineText(host, guest))
	for _, text := range portTexts(host.Ports) {
		line("port", text)
	}
	for _, text := range weakTexts(host.Weaknesses) {
		line("weak", text)
	}
	if len(host.Ports) > 0 {
		line("note", flood)
	}
	line("bond", bondText(sc.Topology))
	line("vlan", vlanText(sc.Topology.VLAN))
	line("slaves", slavesText(sc.Topology.Slaves, pf))
	line("line rate", because(lineRates(cfg.LineRate), cfg.LineRateWhy))
	line("senders", sendersText(sc.Traffic))
	line("burst", burstText(sc.Traffic.Burst))
	line("join", joinText(sc.Traffic))
	line("socket", socketText(sc.Traffic.Socket))
	line("orphan", orphanText(sc.Orphan))
	line("faults", faultsText(sc.Faults))
	line("accept", acceptText(sc.Accept))
	line("preflight", preflightText(pf, sc.Topology.Slaves.Queues))
	line("control", controlText(cfg))
	return b.String()
}

func kernelText(cfg result.Config, host result.Host, guest *result.Guest) string {
	switch {
	case guest == nil && cfg.Testbed == "vm":
		return cfg.Kernel + " (it did not come up)"
	case guest == nil:
		return host.Kernel + " (running here)"
	}
	return fmt.Sprintf("%s, build id %s%s", guest.Kernel, orUnknown(guest.BuildID), asked(cfg.Kernel))
}

func asked(spec string) string {
	if spec == "" {
		return ""
	}
	return ", asked for as " + spec
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// moduleTexts are the swapped modules, and those that could not be proven.
func moduleTexts(cfg result.Config, guest *result.Guest) []string {
	var out []string
	if guest == nil {
		for _, name := range slices.Sorted(maps.Keys(cfg.Modules)) {
			out = append(out, name+" from "+cfg.Modules[name])
		}
		return out
	}
	for _, m := range guest.Modules {
		if !m.Swapped && m.Proven {
			continue
		}
		proof := "NOT PROVEN to be this file"
		if m.Proven {
			proof = "the guest proves it is this file"
		}
		out = append(out, fmt.Sprintf("%s from %s, build id %s, %s", m.Name, m.File, orUnknown(m.BuildID), proof))
	}
	return out
}

func machineText(host result.Host, guest *result.Guest) string {
	if guest == nil {
		return fmt.Sprintf("%s, %s", result.Plural(host.CPUs, "CPU"), host.CPU)
	}
	qemu := ""
	if host.QEMU != "" {
		qemu = ", QEMU " + host.QEMU
	}
	return fmt.Sprintf("%s, %s, %d MB of memory%s, on Linux %s with %s", because(guest.Accelerator, guest.AcceleratorWhy),
		result.Plural(guest.CPUs, "CPU"), guest.MemoryMB, qemu, host.Kernel, result.Plural(host.CPUs, "CPU"))
}

// bondText lists the mode and the options that are set, as iproute2 names them.
func bondText(t scenarios.Topology) string {
	o := t.Bond
	s := o.Mode
	s += option("miimon", o.Miimon) + option("xmit_hash_policy", o.XmitHashPolicy) + option("updelay", o.Updelay) +
		option("downdelay", o.Downdelay) + option("resend_igmp", o.ResendIGMP) + option("num_grat_arp", o.NumGratARP) +
		option("all_slaves_active", o.AllSlavesActive) + option("packets_per_slave", o.PacketsPerSlave) +
		option("tlb_dynamic_lb", o.TLBDynamicLB) + option("fail_over_mac", o.FailOverMAC) + option("lacp_rate", o.LACPRate) +
		option("min_links", o.MinLinks) + option("primary", o.Primary)
	return fmt.Sprintf("%s, mtu %d", s, t.MTU)
}

// vlanText is empty without a VLAN.
func vlanText(id int) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("%d: the senders send from an interface of this VLAN on the bond, and every frame is tagged", id)
}

func option[T any](name string, value *T) string {
	if value == nil {
		return ""
	}
	return fmt.Sprintf(", %s %v", name, *value)
}

func lineRates(rates []float64) string {
	if len(rates) == 0 {
		return "not known yet"
	}
	texts, equal := make([]string, len(rates)), true
	for i, r := range rates {
		texts[i] = result.BitRate(r)
		equal = equal && r == rates[0]
	}
	if equal {
		return texts[0] + " each"
	}
	return strings.Join(texts, ", ")
}

func sendersText(t scenarios.Traffic) string {
	to := "nowhere"
	switch n := len(t.Groups); {
	case n == 1:
		to = t.Groups[0]
	case n > 1:
		to = fmt.Sprintf("%d groups from %s", n, t.Groups[0])
	}
	return fmt.Sprintf("%s of %d-byte payloads to %s port %d, %v, for %v (warm-up %v), %s a system call",
		sendersCount(t.Senders), t.Payload, to, t.Port, t.Rate, t.Duration, t.Warmup, result.Plural(t.Batch, "send"))
}

// sendersCount is settled before a header is printed, but for a kernel that did not come up.
func sendersCount(n scenarios.Senders) string {
	if n == scenarios.AutoSenders {
		return "as many senders as the queue holds (auto)"
	}
	return result.Plural(int(n), "sender")
}

// slavesText tells of TX queues only where there are several.
func slavesText(s scenarios.Slaves, pf result.Preflight) string {
	text := fmt.Sprintf("%d × %s, txqueuelen %d, ring %d", s.Count, s.Qdisc, s.TxQueueLen, pf.Ring)
	if s.Queues > 1 {
		text += fmt.Sprintf(", %d TX queues each, under mq", s.Queues)
	}
	return text
}

func burstText(b scenarios.Burst) string {
	if b.Packets == 0 {
		return ""
	}
	return fmt.Sprintf("%s of each sender, all together, every %v; silence in between", result.Plural(b.Packets, "packet"), b.Every)
}

func joinText(t scenarios.Traffic) string {
	if !t.Join {
		return ""
	}
	return "the sending side is a member of the groups, too, so that the bond has memberships to report"
}

// faultsText lists what is done to a run on purpose, in order.
func faultsText(faults []scenarios.Fault) string {
	faults = slices.Clone(faults)
	slices.SortStableFunc(faults, func(a, b scenarios.Fault) int { return cmp.Compare(a.At, b.At) })
	var parts []string
	for _, f := range faults {
		for _, x := range []struct {
			name  string
			slave *int
		}{{"slave_down", f.SlaveDown}, {"slave_up", f.SlaveUp}, {"replace_qdisc", f.ReplaceQdisc}, {"bypass_bond", f.BypassBond}} {
			if x.slave != nil {
				parts = append(parts, fmt.Sprintf("at %v %s %d", f.At, x.name, *x.slave))
			}
		}
	}
	return strings.Join(parts, ", ")
}

func acceptText(codes []string) string {
	var parts []string
	for _, c := range codes {
		parts = append(parts, because(c, result.Diagnoses[c].Title))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": provoked on purpose, and no reason for BAD"
}

// socketText leaves out what is off.
func socketText(s scenarios.Socket) string {
	parts := []string{"non-blocking"}
	if s.Blocking {
		parts[0] = "blocking"
	}
	if s.SndBufForce > 0 {
		parts = append(parts, fmt.Sprintf("sndbuf_force %d", int64(s.SndBufForce)))
	} else {
		parts = append(parts, fmt.Sprintf("sndbuf %d", int64(s.SndBuf)))
	}
	for _, o := range []struct {
		on   bool
		text string
	}{
		{s.Priority != 0, fmt.Sprintf("priority %d", s.Priority)},
		{bool(s.TxTimestamping), "tx_timestamping on"},
		{bool(s.ZeroCopy), "zerocopy on"},
		{s.GSO > 0, fmt.Sprintf("gso %d", int64(s.GSO))},
		{!s.MaxPacingRate.Unpaced(), fmt.Sprintf("max_pacing_rate %v", s.MaxPacingRate)},
	} {
		if o.on {
			parts = append(parts, o.text)
		}
	}
	return strings.Join(parts, ", ")
}

func orphanText(orphan string) string {
	if orphan == "" || orphan == "none" {
		return ""
	}
	return orphan + " on the bond, before the slaves' qdisc"
}

// preflightText writes the sum, and where there are several TX queues what it is held against: a hash or one sending CPU may
// pick the same queue for all.
func preflightText(pf result.Preflight, queues int) string {
	if pf.Truesize == 0 {
		return "the truesize of a packet is not known, so the send buffers cannot be held against the queue"
	}
	verdict := "fits"
	switch {
	case pf.Exceeds:
		verdict = "DOES NOT FIT: drops are to be expected from this configuration"
	case pf.Tight:
		verdict = "fits with the ring only: drops may come from this configuration"
	}
	against := ""
	if queues > 1 {
		against = fmt.Sprintf("held against one of a slave's %d TX queues: ", queues)
	}
	return fmt.Sprintf("%s × (sndbuf %d / truesize %d + 1) = %d packets in flight at most; %stxqueuelen %d + ring %d%s = %d: %s",
		result.Plural(pf.Senders, "sender"), pf.SndBuf, pf.Truesize, pf.Sum, against, pf.TxQueueLen, pf.Ring, kept(pf.Reserve), pf.Room(), verdict)
}

// kept are the descriptors that the ring's driver does not use.
func kept(reserve int) string {
	if reserve == 0 {
		return ""
	}
	return fmt.Sprintf(" - %d kept free", reserve)
}

func controlText(cfg result.Config) string {
	if cfg.NoControl {
		return "left out (--no-control)"
	}
	if len(cfg.Scenario.Control) == 0 {
		return "the scenario has none"
	}
	var parts []string
	for _, path := range sortedKeys(cfg.Scenario.Control) {
		parts = append(parts, fmt.Sprintf("%s=%v", path, cfg.Scenario.Control[path]))
	}
	return because(strings.Join(parts, ", "), "an arm that must be BAD here")
}
