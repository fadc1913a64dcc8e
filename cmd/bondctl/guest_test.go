package main

import (
	"bytes"
	"strings"
	"testing"

	"bondrepro/internal/exitcode"
	"bondrepro/internal/vmtest"
)

// TestInGuest runs TestGuestUpAndDown on a kernel that has bonding.
func TestInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	vmtest.Guest{Modules: []string{"bonding"}, NICs: 2}.Run(t, "^TestGuestUpAndDown$")
}

// A bond's life, command by command.
func TestGuestUpAndDown(t *testing.T) {
	if !vmtest.Inside() {
		t.Skip("needs a guest's interfaces: TestInGuest runs it there")
	}
	const up = "up bond0 --mode active-backup --set miimon=100 --slave eth0 --slave eth1,prio=5 --primary eth1 --mtu 9000 --txqueuelen 700 --qdisc pfifo_fast --address 192.0.2.1/24"
	for _, c := range []struct {
		args string
		code int
		want string // the beginning of what is printed
	}{
		{up + " --dry-run", exitcode.Good, "ip link add name bond0 type bond mode active-backup miimon 100\n"},
		{"down bond0", exitcode.Good, "bond0 is not there: nothing was done\n"},
		{up, exitcode.Good, "bond0 is up and reads back as asked\n"},
		{up, exitcode.Good, "bond0 is as asked: nothing was done\n"},
		{up + " --dry-run", exitcode.Good, "# bond0 is as asked: there is nothing to do\n"},
		{up + " --set resend_igmp=9", exitcode.Usage, "bondctl: bond0 is there and differs: resend_igmp of bond0 is 1, 9 is asked for; bondctl down removes the bond\n"},
		{"up bond1 --mode 802.3ad --slave eth0", exitcode.Usage, "bondctl: eth0 has a master already: bond0; --take takes it from there, and bondctl down gives it back\n"},
		{"down eth0", exitcode.Usage, "bondctl: eth0 is a device, no bond: it is left alone\n"},
		{"down bond0", exitcode.Good, "bond0 is removed, and its slaves are what they were before\n"},
		{"up bond1 --mode 802.3ad --set broadcast_neighbor=on --set lacp_rate=fast --slave eth0 --qdisc no_such", exitcode.Usage, "bondctl: this kernel has no qdisc no_such: "},
		{up, exitcode.Good, "bond0 is up and reads back as asked\n"},
	} {
		var out bytes.Buffer
		code := execute(t.Context(), strings.Fields(c.args), &out, &out)
		if code != c.code || !strings.HasPrefix(out.String(), c.want) {
			t.Errorf("bondctl %s: %d, %s", c.args, code, out.String())
		}
	}
}
