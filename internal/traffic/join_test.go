package traffic

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// memberships are the groups among those given that this namespace is a member of, by the kernel's own tables.
func memberships(t *testing.T, groups scenarios.Groups) []string {
	t.Helper()
	v4, err := os.ReadFile("/proc/thread-self/net/igmp")
	if err != nil {
		t.Fatal(err)
	}
	v6, err := os.ReadFile("/proc/thread-self/net/igmp6")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(v4) + string(v6))
	var found []string
	for _, g := range groups {
		b := netip.MustParseAddr(g).AsSlice()
		name := hex.EncodeToString(b)
		if len(b) == 4 {
			name = fmt.Sprintf("%08X", binary.NativeEndian.Uint32(b))
		}
		if slices.Contains(words, name) {
			found = append(found, g)
		}
	}
	return found
}

func TestJoin(t *testing.T) {
	inBoth(t, func(t *testing.T, l line) {
		const many = 45 // a socket of IPv4 holds 20 by default
		groups := slices.Clone(l.groups)
		for a := netip.MustParseAddr(l.groups[2]).Next(); len(groups) < many; a = a.Next() {
			groups = append(groups, a.String())
		}
		for _, on := range []bool{false, true} {
			g, err := Open(l.config(func(s *scenarios.Traffic) { s.Groups, s.Join = groups, scenarios.Switch(on) }))
			if err != nil {
				t.Fatal(err)
			}
			want := map[bool]int{true: many}[on]
			if got := memberships(t, groups); len(got) != want {
				t.Errorf("join %v: member of %d groups, want %d", on, len(got), want)
			}
			for _, fd := range g.members {
				if name, err := unix.Getsockname(fd); err != nil || portOf(name) != 0 {
					t.Errorf("a socket for memberships has the name %v (%v), want no port", name, err)
				}
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			if got := memberships(t, groups); len(got) != 0 {
				t.Errorf("join %v: still a member of %v after Close", on, got)
			}
		}
	})
}

func TestJoinRefused(t *testing.T) {
	inNamespace(t, func(t *testing.T, l line) {
		sysctlSet(t, "net.ipv4.igmp_max_memberships", "0")
		_, err := Open(l.config(func(s *scenarios.Traffic) { s.Join = true }))
		var refused *OptionError
		if !errors.As(err, &refused) || !errors.Is(err, unix.ENOBUFS) {
			t.Errorf("%v, want an OptionError with ENOBUFS", err)
		}
		const want = "traffic.join: 239.66.1.1 on interface 3 can't be had (MCAST_JOIN_GROUP): no buffer space available (ENOBUFS): " +
			"a socket can't have one membership: net.ipv4.igmp_max_memberships and net.core.optmem_max bound them"
		if err != nil && err.Error() != want {
			t.Errorf("message\n got %s\nwant %s", err, want)
		}
	})
}
