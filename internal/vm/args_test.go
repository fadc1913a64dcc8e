package vm

import (
	"strings"
	"testing"
)

// The command lines that the kernels of FACTS boot with. Written out: a change here is a change of every guest.
func TestArguments(t *testing.T) {
	tests := []struct {
		name    string
		config  Config
		accel   string
		sockets []string
		want    string
	}{
		{"tcg, two NICs", Config{Image: "/boot/vmlinuz", NICs: 2}, TCG, nil, `
-nodefaults -no-user-config -no-reboot -display none -machine q35 -accel tcg,thread=multi -cpu max,-cx16
-smp 2 -m 1024 -kernel /boot/vmlinuz -initrd /dev/fd/5
-append "console=ttyS0 panic=-1 oops=panic loglevel=5 printk.devkmsg=on net.ifnames=0 mitigations=off"
-chardev socket,id=console,fd=3 -serial chardev:console -chardev socket,id=channel,fd=4 -serial chardev:channel
-netdev dgram,id=line0,local.type=fd,local.str=6 -device virtio-net-pci,netdev=line0,mac=52:54:00:b0:4d:01,romfile=
-netdev dgram,id=line1,local.type=fd,local.str=7 -device virtio-net-pci,netdev=line1,mac=52:54:00:b0:4d:02,romfile=`},
		{"kvm, a speed, an argument", Config{Image: "k", NICs: 1, LinkSpeed: 10000, MemoryMB: 512, CPUs: 1, Append: "nosmp"}, KVM, nil, `
-nodefaults -no-user-config -no-reboot -display none -machine q35 -accel kvm -cpu host
-smp 1 -m 512 -kernel k -initrd /dev/fd/5
-append "console=ttyS0 panic=-1 oops=panic loglevel=5 printk.devkmsg=on net.ifnames=0 mitigations=off nosmp"
-chardev socket,id=console,fd=3 -serial chardev:console -chardev socket,id=channel,fd=4 -serial chardev:channel
-netdev dgram,id=line0,local.type=fd,local.str=6 -device virtio-net-pci,netdev=line0,mac=52:54:00:b0:4d:01,romfile=,speed=10000,duplex=full`},
		{"joined NICs", Config{Image: "k", NICs: 2, MemoryMB: 512, CPUs: 2, Joined: true}, KVM, nil, `
-nodefaults -no-user-config -no-reboot -display none -machine q35 -accel kvm -cpu host
-smp 2 -m 512 -kernel k -initrd /dev/fd/5
-append "console=ttyS0 panic=-1 oops=panic loglevel=5 printk.devkmsg=on net.ifnames=0 mitigations=off"
-chardev socket,id=console,fd=3 -serial chardev:console -chardev socket,id=channel,fd=4 -serial chardev:channel
-netdev hubport,id=line0,hubid=0 -device virtio-net-pci,netdev=line0,mac=52:54:00:b0:4d:01,romfile=
-netdev hubport,id=line1,hubid=0 -device virtio-net-pci,netdev=line1,mac=52:54:00:b0:4d:02,romfile=`},
		{"four queues, a speed", Config{Image: "k", NICs: 1, Queues: 4, LinkSpeed: 10000}, TCG, []string{"NAME"}, `
-nodefaults -no-user-config -no-reboot -display none -object memory-backend-memfd,id=ram,size=1024M,share=on
-machine q35,memory-backend=ram -accel tcg,thread=multi -cpu max,-cx16
-smp 4 -m 1024 -kernel k -initrd /dev/fd/5
-append "console=ttyS0 panic=-1 oops=panic loglevel=5 printk.devkmsg=on net.ifnames=0 mitigations=off"
-chardev socket,id=console,fd=3 -serial chardev:console -chardev socket,id=channel,fd=4 -serial chardev:channel
-chardev socket,id=vhost0,path=NAME,abstract=on -netdev vhost-user,id=line0,chardev=vhost0,queues=4
-device virtio-net-pci,netdev=line0,mac=52:54:00:b0:4d:01,romfile=,speed=10000,duplex=full,mq=on,vectors=0`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.config.Self = "/self"
			c, err := tt.config.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range arguments(c, tt.accel, tt.sockets) {
				if strings.Contains(a, " ") {
					a = `"` + a + `"`
				}
				got = append(got, a)
			}
			if g, w := strings.Join(got, " "), strings.Join(strings.Fields(tt.want), " "); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

func TestConfigThatCannotBe(t *testing.T) {
	for want, c := range map[string]Config{
		"no kernel":          {Self: "s"},
		"17 NICs":            {Image: "i", Self: "s", NICs: 17},
		"accelerator":        {Image: "i", Self: "s", Accel: "xen"},
		"NIC 2, there are 2": {Image: "i", Self: "s", NICs: 2, Cables: [][2]int{{0, 2}}},
		"at NIC 1":           {Image: "i", Self: "s", NICs: 3, Cables: [][2]int{{0, 1}, {2, 1}}},
	} {
		if _, err := c.withDefaults(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
