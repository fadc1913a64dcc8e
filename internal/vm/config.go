// Package vm boots a kernel in QEMU with this program as its init, and is the other end of the machine's NICs.
// A machine is a value: several may run. It leaves nothing on disk: the initramfs is a memory file, the serial
// ports and the lines are socket pairs handed to QEMU, or abstract sockets, and QEMU dies with us.
package vm

import (
	"fmt"
	"io"
	"time"

	"bondrepro/internal/initramfs"
	"bondrepro/internal/kernel"
)

// Config says what to boot. Image and Self are needed; every other zero value means the default.
type Config struct {
	Image string // the kernel, a bzImage
	Self  string // a static binary that calls guest.Main when it is PID 1

	Modules      []kernel.Module   // in the order they are loaded
	ModuleParams map[string]string // by module name, as modprobe takes them: bonding: max_bonds=0
	Files        []initramfs.Entry // more files for the guest
	Sysctls      map[string]string // applied after the modules are loaded: net.ipv6.conf.all.disable_ipv6 or with slashes

	NICs int // virtio NICs, each with a line of the Wire; eth0, eth1, … in order, see MAC
	// Queues is how many pairs of queues each NIC has; 0 stands for 1. virtio_net uses no more of them than there are
	// CPUs (virtnet_probe, drivers/net/virtio_net.c), so these are as many at least, whatever CPUs says.
	Queues int
	// LinkSpeed is the speed the NICs say they have, Mbit/s, full duplex; 0 for unknown. 802.3ad needs one.
	LinkSpeed int
	// Cables are pairs of NICs: what one sends of the slow protocols (LACP), the other receives. Nothing else is
	// carried, and the frames count on the sender's line as they do without a cable.
	Cables [][2]int

	// Joined makes QEMU join all NICs by a hub, at the speed they go, in place of lines: what one sends the others receive.
	// There is no Wire then, and Queues is 1.
	Joined bool

	MemoryMB int    // 1024
	CPUs     int    // 2
	Append   string // more for the kernel's command line

	QEMU  string // the program; qemu-system-x86_64 of $PATH
	Accel string // kvm or tcg; empty: kvm where it works

	BootTimeout time.Duration // until hello; 60 s
	// HangAfter is how long the guest may say nothing, not even a heartbeat, while a call runs; 20 s.
	HangAfter time.Duration

	Progress   func(string) // told in a few words what takes time; may be nil
	ConsoleLog io.Writer    // gets all that the console shows; may be nil
}

// MAC is the address of NIC i, from 0.
func MAC(i int) string { return fmt.Sprintf("52:54:00:b0:4d:%02x", i+1) }

// programOf is QEMU's program: the one given, or that of $PATH.
func programOf(given string) string {
	if given == "" {
		return "qemu-system-x86_64"
	}
	return given
}

// withDefaults fills in what was left at zero, and checks the rest.
func (c Config) withDefaults() (Config, error) {
	for _, d := range []struct {
		field *int
		value int
	}{{&c.MemoryMB, 1024}, {&c.CPUs, 2}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&c.BootTimeout, time.Minute}, {&c.HangAfter, 20 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	c.QEMU = programOf(c.QEMU)
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	if c.ConsoleLog == nil {
		c.ConsoleLog = io.Discard
	}
	const (
		mostNICs   = 16 // of some 30 free slots of the q35 root bus
		mostQueues = 64
	)
	c.Queues = max(c.Queues, 1)
	c.CPUs = max(c.CPUs, c.Queues)
	switch {
	case c.Image == "" || c.Self == "":
		return c, fmt.Errorf("boot a machine: no kernel or no program for it")
	case c.NICs < 0 || c.NICs > mostNICs:
		return c, fmt.Errorf("boot a machine: %d NICs, at most %d are possible", c.NICs, mostNICs)
	case c.Queues > mostQueues:
		return c, fmt.Errorf("boot a machine: %d queues a NIC, at most %d are possible", c.Queues, mostQueues)
	case c.Joined && (c.Queues > 1 || len(c.Cables) > 0):
		return c, fmt.Errorf("boot a machine: joined NICs have one queue and no cables")
	case c.Accel != "" && c.Accel != KVM && c.Accel != TCG:
		return c, fmt.Errorf("boot a machine: accelerator %q, only %s and %s are known", c.Accel, KVM, TCG)
	}
	if err := checkCables(c.Cables, c.NICs); err != nil {
		return c, fmt.Errorf("boot a machine: %w", err)
	}
	return c, nil
}
