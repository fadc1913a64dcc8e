package judge

import (
	"fmt"
	"slices"
	"strings"

	"bondrepro/reproducer/result"
)

// misplaced tells whether a line of the kernel's log reports a packet for a TX queue that a slave or the bond does not
// have (netdev_cap_txqueue, include/linux/netdevice.h: "eth0 selects TX queue 7, but real number of TX queues is 4"). A
// device on its way out has no queues at all, which is no fault.
func misplaced(rec *result.Recording, line string) bool {
	device, rest, found := strings.Cut(line, " selects TX queue")
	if !found || strings.HasSuffix(strings.TrimSpace(rest), "number of TX queues is 0") {
		return false
	}
	words := strings.Fields(device) // a time may come before the device
	name := ""
	if n := len(words); n > 0 {
		name = words[n-1]
	}
	return name == rec.Bond.Name || slices.ContainsFunc(rec.Slaves, func(s result.SlaveState) bool { return s.Name == name })
}

// queueMapped finds packets that were mapped to a TX queue that is not there.
func queueMapped(f *facts, _ result.Oracle, _ balance) (result.Finding, result.Cause, bool) {
	n, first := 0, ""
	for _, line := range f.rec.KernelLog {
		if misplaced(&f.rec, line) {
			if n == 0 {
				first = strings.TrimSpace(line)
			}
			n++
		}
	}
	if n == 0 {
		return result.Finding{}, "", false
	}
	ev := fmt.Sprintf("the kernel's log says %q", first)
	if n > 1 {
		ev += fmt.Sprintf(" and %d more such lines", n-1)
	}
	return finding(result.QueueMapping, ev), result.CauseKernel, true
}

// faultLines are the other lines of a run's kernel log.
func faultLines(rec *result.Recording) (out []string) {
	for _, line := range rec.KernelLog {
		if !misplaced(rec, line) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}
