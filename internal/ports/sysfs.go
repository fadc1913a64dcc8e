package ports

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bondrepro/reproducer/result"
)

// tree is where /sys and /proc are found: "/", or a recorded one in tests.
type tree string

func (t tree) path(parts ...string) string {
	return filepath.Join(append([]string{string(t)}, parts...)...)
}

// read gives a file's text without space around it, "" when there is none or the driver answers with an error, as it
// does for the speed of a port that is down.
func (t tree) read(parts ...string) string {
	text, err := os.ReadFile(t.path(parts...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (t tree) number(parts ...string) int64 {
	n, _ := strconv.ParseInt(t.read(parts...), 10, 64)
	return n
}

// list gives the names in a folder, sorted as people count: tx-2 before tx-10.
func (t tree) list(parts ...string) []string {
	entries, _ := os.ReadDir(t.path(parts...))
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	slices.SortStableFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return all
}

func (t tree) exists(parts ...string) bool {
	_, err := os.Stat(t.path(parts...))
	return err == nil
}

const class = "sys/class/net"

// sameNamespace holds the interface against what /sys shows by its name. A mounted sysfs shows the network namespace of
// whoever mounted it.
func (t tree) sameNamespace(f Facts) error {
	if t.number(class, f.Name, "ifindex") == int64(f.Ifindex) {
		return nil
	}
	return fmt.Errorf("/sys does not show the interface %s (index %d): it belongs to another network namespace, or is not mounted: ip netns exec mounts the right one", f.Name, f.Ifindex)
}

// port adds what sysfs and /proc/irq tell.
func (t tree) port(f *Facts) {
	f.Virtual = t.exists("sys/devices/virtual/net", f.Name)
	if speed := t.number(class, f.Name, "speed"); speed > 0 { // -1: not known
		f.SpeedMbit = int(speed)
	}
	if d := t.read(class, f.Name, "duplex"); d == "full" || d == "half" {
		f.Duplex = d
	}
	f.Queues, f.IRQs = t.queues(f.Name), t.irqs(f.Name)
	for _, u := range t.uppers(f.Name) {
		if u != f.Master {
			f.Uppers = append(f.Uppers, u)
		}
	}
}

// uppers are the devices directly on the interface, its master among them: the kernel links each as upper_NAME
// (net/core/dev.c, __netdev_adjacent_dev_insert).
func (t tree) uppers(name string) []string {
	var all []string
	for _, entry := range t.list(class, name) {
		if u, ok := strings.CutPrefix(entry, "upper_"); ok {
			all = append(all, u)
		}
	}
	return all
}

// above are all devices on the interface, and on those, and so on.
func (t tree) above(name string) []string {
	var all []string
	for todo := t.uppers(name); len(todo) > 0; todo = todo[1:] {
		if u := todo[0]; !slices.Contains(all, u) {
			all = append(all, u)
			todo = append(todo, t.uppers(u)...)
		}
	}
	return all
}

// queues are those in use for transmission: the kernel shows no more (netdev_queue_update_kobjects).
func (t tree) queues(name string) []result.PortQueue {
	var all []result.PortQueue
	for _, entry := range t.list(class, name, "queues") {
		if !strings.HasPrefix(entry, "tx-") {
			continue
		}
		at := filepath.Join(class, name, "queues", entry)
		q := result.PortQueue{XPS: t.read(at, "xps_cpus")}
		if bql := filepath.Join(at, "byte_queue_limits"); t.exists(bql) {
			q.BQL = &result.PortBQL{Limit: t.number(bql, "limit"), LimitMax: t.number(bql, "limit_max"), Inflight: t.number(bql, "inflight")}
		}
		all = append(all, q)
	}
	return all
}

// irqs are the interrupts of the device; those of a virtio port are its PCI device's.
func (t tree) irqs(name string) []result.PortIRQ {
	var all []result.PortIRQ
	for _, device := range []string{"device", "device/.."} {
		// The path is not cleaned: device is a link, and .. is where it leads.
		entries, _ := os.ReadDir(t.path(class, name) + "/" + device + "/msi_irqs")
		for _, e := range entries {
			n, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			all = append(all, t.irq(n))
		}
		if len(all) > 0 {
			break
		}
	}
	slices.SortFunc(all, func(a, b result.PortIRQ) int { return a.Number - b.Number })
	return all
}

// irq reads /proc/irq/N, where the folder bears the name that its driver gave it.
func (t tree) irq(n int) result.PortIRQ {
	at := filepath.Join("proc/irq", strconv.Itoa(n))
	irq := result.PortIRQ{Number: n, Affinity: t.read(at, "smp_affinity_list"), Effective: t.read(at, "effective_affinity_list")}
	entries, _ := os.ReadDir(t.path(at))
	for _, e := range entries {
		if e.IsDir() {
			irq.Name = e.Name()
		}
	}
	return irq
}
