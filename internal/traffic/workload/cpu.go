package workload

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// hertz is the unit of /proc/stat: USER_HZ, 100 on all architectures we run on (proc(5)).
const hertz = 100

// cpuTimes are the times of one or more CPUs in seconds, from /proc/stat: those of all that runs there.
type cpuTimes struct {
	User, System, Idle, IRQ, SoftIRQ, Steal float64
}

// busy is what ran there: all but idle, waiting for a disk, and stolen time.
func (t cpuTimes) busy() float64 { return t.User + t.System + t.IRQ + t.SoftIRQ }

func (t cpuTimes) minus(u cpuTimes) cpuTimes {
	return cpuTimes{t.User - u.User, t.System - u.System, t.Idle - u.Idle, t.IRQ - u.IRQ, t.SoftIRQ - u.SoftIRQ, t.Steal - u.Steal}
}

// readCPUs reads /proc/stat. It is the machine's also in a network namespace.
func readCPUs() ([]byte, error) { return os.ReadFile("/proc/stat") }

// sumCPUs adds the times of some CPUs; none: of all the machine.
func sumCPUs(stat []byte, cpus []int) (cpuTimes, error) {
	var sum cpuTimes
	found := 0
	for line := range bytes.Lines(stat) {
		fields := bytes.Fields(line)
		if len(fields) < 9 || !bytes.HasPrefix(fields[0], []byte("cpu")) {
			continue
		}
		number := string(fields[0][len("cpu"):])
		if n, err := strconv.Atoi(number); len(cpus) == 0 && number != "" || len(cpus) > 0 && (err != nil || !slices.Contains(cpus, n)) {
			continue
		}
		var v [8]float64 // user nice system idle iowait irq softirq steal
		for i := range v {
			ticks, err := strconv.ParseUint(string(fields[i+1]), 10, 64)
			if err != nil {
				return cpuTimes{}, fmt.Errorf("/proc/stat: %s: %w", fields[0], err)
			}
			v[i] = float64(ticks) / hertz
		}
		found++
		sum.User += v[0] + v[1]
		sum.System += v[2]
		sum.Idle += v[3] + v[4]
		sum.IRQ += v[5]
		sum.SoftIRQ += v[6]
		sum.Steal += v[7]
	}
	if distinct := len(slices.Compact(slices.Sorted(slices.Values(cpus)))); found == 0 || found < distinct {
		return cpuTimes{}, fmt.Errorf("/proc/stat has %d of the CPUs %v", found, cpus)
	}
	return sum, nil
}
