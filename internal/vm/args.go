package vm

import (
	"fmt"
	"strings"
)

// QEMU's descriptors: osrun gives extra files the numbers from 3 on.
const (
	fdConsole  = 3
	fdChannel  = 4
	fdInitrd   = 5
	fdFirstNIC = 6
)

// cpus are QEMU's arguments for each accelerator. TCG of QEMU 7.2 crashes Linux 6.12 in kmem_cache_alloc when
// the CPU has cmpxchg16b.
var cpus = map[string][]string{
	KVM: {"-accel", "kvm", "-cpu", "host"},
	TCG: {"-accel", "tcg,thread=multi", "-cpu", "max,-cx16"},
}

// kernelArguments: any oops or panic ends the machine (oops=panic, panic=-1, and -no-reboot on QEMU's side), what
// the guest writes to /dev/kmsg is never dropped, and the console shows warnings (level 4) but not less: the kernel's
// complaints are read there.
const kernelArguments = "console=ttyS0 panic=-1 oops=panic loglevel=5 printk.devkmsg=on net.ifnames=0 mitigations=off"

// severalQueues is what a device of several queues has in common. It has no MSI-X: with it, and without KVM, QEMU 7.2
// dies of SIGSEGV when the driver starts a vhost-user device (virtio_pci_vq_vector_unmask, hw/virtio/virtio-pci.c, takes
// an irqfd for granted). With one interrupt for all rings it works with either accelerator.
const severalQueues = ",mq=on,vectors=0"

// arguments are QEMU's for a machine whose initramfs, serial ports and lines are the descriptors above, or whose lines
// are the abstract sockets named.
func arguments(c Config, accel string, sockets []string) []string {
	args := []string{"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"}
	if sockets == nil {
		args = append(args, "-machine", "q35")
	} else {
		args = append(args, "-object", fmt.Sprintf("memory-backend-memfd,id=ram,size=%dM,share=on", c.MemoryMB),
			"-machine", "q35,memory-backend=ram")
	}
	args = append(args, cpus[accel]...)
	args = append(args,
		"-smp", fmt.Sprint(c.CPUs), "-m", fmt.Sprint(c.MemoryMB),
		"-kernel", c.Image, "-initrd", fmt.Sprintf("/dev/fd/%d", fdInitrd),
		"-append", strings.TrimSpace(kernelArguments+" "+c.Append),
		"-chardev", fmt.Sprintf("socket,id=console,fd=%d", fdConsole), "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=channel,fd=%d", fdChannel), "-serial", "chardev:channel",
	)
	for i := range c.NICs {
		device := fmt.Sprintf("virtio-net-pci,netdev=line%d,mac=%s,romfile=", i, MAC(i))
		if c.LinkSpeed > 0 {
			device += fmt.Sprintf(",speed=%d,duplex=full", c.LinkSpeed)
		}
		switch {
		case c.Joined:
			args = append(args, "-netdev", fmt.Sprintf("hubport,id=line%d,hubid=0", i))
		case sockets == nil:
			args = append(args, "-netdev", fmt.Sprintf("dgram,id=line%d,local.type=fd,local.str=%d", i, fdFirstNIC+i))
		default:
			device += severalQueues
			args = append(args, "-chardev", fmt.Sprintf("socket,id=vhost%d,path=%s,abstract=on", i, sockets[i]),
				"-netdev", fmt.Sprintf("vhost-user,id=line%d,chardev=vhost%d,queues=%d", i, i, c.Queues))
		}
		args = append(args, "-device", device)
	}
	return args
}
