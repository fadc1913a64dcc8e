package ports

import (
	"slices"
	"strconv"
	"strings"
)

const cpus = "sys/devices/system/cpu"

// ReadMachine reads what has a say in how all ports send; what can't be read stays empty.
func ReadMachine() Machine { return tree("/").machine() }

func (t tree) machine() Machine {
	var online cpuSet
	online.addList(t.read(cpus, "online"))
	return Machine{CPUs: len(online), Irqbalance: t.runs("irqbalance"), Governors: t.governors(), ASPM: chosen(t.read("sys/module/pcie_aspm/parameters/policy"))}
}

// runs tells whether a process of that name is there.
func (t tree) runs(name string) bool {
	return slices.ContainsFunc(t.list("proc"), func(pid string) bool {
		_, err := strconv.Atoi(pid)
		return err == nil && t.read("proc", pid, "comm") == name
	})
}

func (t tree) governors() []string {
	var all []string
	for _, cpu := range t.list(cpus) {
		if g := t.read(cpus, cpu, "cpufreq/scaling_governor"); g != "" && !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	slices.Sort(all)
	return all
}

// chosen is the word in brackets of a list such as "default [performance] powersave".
func chosen(list string) string {
	_, rest, _ := strings.Cut(list, "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}
