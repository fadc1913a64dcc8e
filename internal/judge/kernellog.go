package judge

import (
	"fmt"
	"strings"

	"bondrepro/reproducer/result"
)

// misplaced tells whether a line of the kernel's log reports a packet for a TX queue that its device does not have
// (netdev_cap_txqueue, include/linux/netdevice.h). A device on its way out has no queues at all, which is no fault.
func misplaced(line string) bool {
	return strings.Contains(line, "selects TX queue") && !strings.HasSuffix(strings.TrimSpace(line), "number of TX queues is 0")
}

// queueMapped finds packets that were mapped to a TX queue that is not there.
func queueMapped(f *facts, _ result.Oracle, _ balance) (result.Finding, result.Cause, bool) {
	n, first := 0, ""
	for _, line := range f.rec.KernelLog {
		if misplaced(line) {
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
		if !misplaced(line) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}
