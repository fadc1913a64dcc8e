package ifstate

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// ipv4 is an RTM_NEWADDR payload of 192.0.2.1/24 on interface 7.
func ipv4(flags byte, more ...attribute) []byte {
	address := []byte{192, 0, 2, 1}
	header := []byte{unix.AF_INET, 24, flags, unix.RT_SCOPE_UNIVERSE, 7, 0, 0, 0}
	return join(header, append([]attribute{{unix.IFA_ADDRESS, address}, {unix.IFA_LOCAL, address}}, more...))
}

func routeTo(index uint32, more ...attribute) []byte {
	header := make([]byte, unix.SizeofRtMsg)
	copy(header, []byte{unix.AF_INET, 16, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST})
	return join(header, append([]attribute{{unix.RTA_DST, []byte{10, 5, 0, 0}}, {unix.RTA_OIF, bytes32(index)}}, more...))
}

func port() Interface {
	prio := int32(5)
	return Interface{
		Ifindex: 7, Name: "eth0", Named: true, PermanentMAC: "02:00:00:00:00:01", MAC: "02:00:00:00:00:01", MTU: 9000, TxQueueLen: 1000,
		Flags: unix.IFF_UP | unix.IFF_MULTICAST, Carrier: true, OperState: "up", Master: "bond1", MasterKind: "bond",
		Slave:     &Slave{MAC: "02:00:00:00:00:01", QueueID: "2", Prio: &prio},
		Addresses: []Message{{Text: "192.0.2.1/24 scope global", Raw: ipv4(0)}, {Text: "192.0.2.2/24 scope global", Raw: ipv4(0)}},
		Routes:    []Message{{Text: "10.5.0.0/16 dev eth0 table 254 proto 3 scope global", Raw: routeTo(7)}},
		Features:  map[string]Feature{"rx-gro": {Active: true, Requested: true, Available: true}},
		Channels:  &Channels{Combined: 4},
		Sysctls:   map[string]string{"ipv4/conf/%s/rp_filter": "2"},
		Multicast: []string{"01:00:5e:00:00:07"}, Memberships: []string{"224.0.0.1"},
	}
}

func TestStateIsTheSameFromItsFile(t *testing.T) {
	want := State{BootID: "a", Taken: 12.5, Interfaces: []Interface{port(), {Name: "bond1", Kind: "bond", Bond: &Bond{Slaves: []string{"eth0"}, Options: map[string]string{"primary": ""}}}}}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got State
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("from JSON: %+v\nwant %+v", got, want)
	}
	if d := Differences(want, got); d != nil {
		t.Errorf("differences: %v", d)
	}
}

// Each change of an interface is one difference, named after what changed.
func TestDifferences(t *testing.T) {
	for what, change := range map[string]func(i *Interface){
		"mtu":                                 func(i *Interface) { i.MTU = 1500 },
		"MAC":                                 func(i *Interface) { i.MAC = "02:00:00:00:00:02" },
		"txqueuelen":                          func(i *Interface) { i.TxQueueLen = 8 },
		"flags":                               func(i *Interface) { i.Flags &^= unix.IFF_UP },
		"master":                              func(i *Interface) { i.Master = "" },
		"queue_id":                            func(i *Interface) { i.Slave = &Slave{MAC: i.Slave.MAC, QueueID: "0", Prio: i.Slave.Prio} },
		"prio":                                func(i *Interface) { i.Slave = &Slave{MAC: i.Slave.MAC, QueueID: "2"} },
		"address":                             func(i *Interface) { i.Addresses = i.Addresses[:1] },
		"address order":                       func(i *Interface) { i.Addresses = []Message{i.Addresses[1], i.Addresses[0]} },
		"route":                               func(i *Interface) { i.Routes = nil },
		"neighbour":                           func(i *Interface) { i.Neighbours = []Message{{Text: "192.0.2.9 nud permanent"}} },
		"link-layer multicast address":        func(i *Interface) { i.Multicast = nil },
		"membership":                          func(i *Interface) { i.Memberships = nil },
		"feature rx-gro":                      func(i *Interface) { i.Features = map[string]Feature{"rx-gro": {Requested: true}} },
		"channels":                            func(i *Interface) { i.Channels = &Channels{Combined: 1} },
		"sysctl net.ipv4.conf.eth0.rp_filter": func(i *Interface) { i.Sysctls = nil },
		"address 192.0.2.1/24 scope global":   func(i *Interface) { i.Tentative = []string{"192.0.2.1/24 scope global"} },
		"group":                               func(i *Interface) { i.Group = 3 },
		"link mode":                           func(i *Interface) { i.LinkMode = 1 },
		"name":                                func(i *Interface) { i.Name = "eth9" },
	} {
		changed := port()
		change(&changed)
		got := Differences(State{BootID: "a", Interfaces: []Interface{port()}}, State{BootID: "a", Interfaces: []Interface{changed}})
		if len(got) != 1 || got[0].What != what || got[0].Interface != "eth0" {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// What came without anybody's harm is no difference.
func TestDifferencesLeaveOut(t *testing.T) {
	was := port()
	was.Carrier, was.OperState = false, "down"
	is := port()
	is.Memberships = append(is.Memberships, "239.1.1.1")
	if got := Differences(State{Interfaces: []Interface{was}}, State{Interfaces: []Interface{is}}); got != nil {
		t.Errorf("differences: %v", got)
	}
}

func TestMatch(t *testing.T) {
	const mac, other = "02:00:00:00:00:01", "02:00:00:00:00:02"
	for name, c := range map[string]struct {
		boot    string
		present []identity
		want    int
	}{
		"by index in the same boot":                 {"a", []identity{{3, "eth0", other}, {7, "wan", mac}}, 1},
		"not by index in another boot":              {"b", []identity{{3, "wan", mac}, {7, "eth1", other}}, 0},
		"by name where the device has no MAC":       {"b", []identity{{3, "eth0", ""}, {7, "eth1", other}}, 0},
		"not by name where another device has it":   {"b", []identity{{3, "eth0", other}}, -1},
		"a MAC that two have tells nothing":         {"b", []identity{{3, "eth1", mac}, {4, "eth0", mac}}, 1},
		"gone":                                      {"a", []identity{{8, "eth1", other}}, -1},
		"plugged in again: new index, the same MAC": {"a", []identity{{12, "eth4", mac}}, 0},
	} {
		got := match(State{BootID: "a", Interfaces: []Interface{port()}}, c.boot, c.present)
		if got[0] != c.want {
			t.Errorf("%s: %d, want %d", name, got[0], c.want)
		}
	}
}

func TestIrrestorable(t *testing.T) {
	for what, change := range map[string]func(i *Interface){
		"br0 is a bridge":   func(i *Interface) { i.Master, i.MasterKind = "br0", "bridge" },
		"XDP":               func(i *Interface) { i.XDP = true },
		"eth0.5 (vlan)":     func(i *Interface) { i.Children = []string{"eth0.5 (vlan)"} },
		"nexthop object":    func(i *Interface) { i.Routes = []Message{{Raw: routeTo(7, attribute{rtaNexthopID, bytes32(4)})}} },
		"temporary address": func(i *Interface) { i.Addresses = []Message{{Text: "2001:db8::1/64 scope global temporary dynamic"}} },
	} {
		i := port()
		change(&i)
		got := State{Interfaces: []Interface{i}}.Irrestorable()
		if len(got) != 1 || !strings.Contains(got[0].What, what) {
			t.Errorf("%s: %v", what, got)
		}
		if i.Named = false; len(State{Interfaces: []Interface{i}}.Irrestorable()) != 0 {
			t.Errorf("%s: matters though nobody named the interface", what)
		}
	}
	if got := (State{Interfaces: []Interface{port()}}).Irrestorable(); got != nil {
		t.Errorf("a port of a bond: %v", got)
	}
}

// The bond's list becomes as wanted one slave at a time, from whatever it is, and is never emptied.
func TestNextSlaveReachesEveryOrder(t *testing.T) {
	want := []string{"a", "b", "c"}
	for _, start := range []string{"", "a", "b", "c", "ab", "ba", "bc", "ca", "cb", "abc", "acb", "bac", "bca", "cab", "cba", "xb", "bxa"} {
		have := strings.Split(start, "")
		if start == "" {
			have = nil
		}
		for range 2*len(want) + 1 {
			next := nextSlave(want, have)
			if next == "" {
				break
			}
			var rest []string
			for _, h := range have {
				if h != next {
					rest = append(rest, h)
				}
			}
			if len(have) > 0 && len(rest) == 0 {
				t.Errorf("from %q: the bond has no slave", start)
			}
			have = append(rest, next)
		}
		if got := strings.ReplaceAll(strings.Join(have, ""), "x", ""); got != "abc" {
			t.Errorf("from %q: %q", start, got)
		}
	}
}

func TestRouteRequest(t *testing.T) {
	hop := func(index byte, flags byte) []byte {
		return join([]byte{16, 0, flags, 1, index, 0, 0, 0}, []attribute{{unix.RTA_GATEWAY, []byte{192, 0, 2, 9}}})
	}
	header := make([]byte, unix.SizeofRtMsg)
	copy(header, []byte{unix.AF_INET, 16, 0, 0, unix.RT_TABLE_MAIN, 4, 0, unix.RTN_UNICAST, unix.RTNH_F_DEAD | unix.RTNH_F_ONLINK})
	life := make([]byte, 32)
	copy(life[8:], bytes32(100*clockTick))
	m := Message{Raw: join(header, []attribute{
		{unix.RTA_DST, []byte{10, 5, 0, 0}}, {unix.RTA_MULTIPATH, append(hop(7, unix.RTNH_F_LINKDOWN), hop(8, 0)...)}, {unix.RTA_CACHEINFO, life},
	})}
	names := func(index int) string { return map[int]string{7: "eth0", 17: "eth0", 8: "eth1", 18: "eth1"}[index] }
	before, err := decodeRoute(m.Raw, names)
	if err != nil {
		t.Fatal(err)
	}
	const text = "10.5.0.0/16 table 254 proto 4 scope global onlink expires limited nexthop via 192.0.2.9 dev eth0 weight 2 nexthop via 192.0.2.9 dev eth1 weight 2"
	if before.Text != text {
		t.Errorf("text %q, want %q", before.Text, text)
	}
	raw, possible, err := routeRequest(m, func(index int) int { return index + 10 }, 40)
	if err != nil || !possible {
		t.Fatal(possible, err)
	}
	after, err := decodeRoute(raw, names)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(after.indices, []int{17, 18}) {
		t.Errorf("indices %v", after.indices)
	}
	attrs, err := attributes(raw[unix.SizeofRtMsg:])
	if err != nil {
		t.Fatal(err)
	}
	if left := u32(find(attrs, unix.RTA_EXPIRES)); left != 60 {
		t.Errorf("expires in %d s, want 60", left)
	}
	if flags := u32(raw[8:]); flags != unix.RTNH_F_ONLINK {
		t.Errorf("flags %#x: the kernel refuses those that tell a state", flags)
	}
	if _, possible, _ := routeRequest(m, func(int) int { return 0 }, 0); possible {
		t.Error("a route out of an interface that is gone")
	}
	if _, possible, _ := routeRequest(m, func(i int) int { return i }, 100); possible {
		t.Error("a route that has ended")
	}
}

// A route that comes with an address is waited for; one of a network is made, also where the kernel made it before.
func TestComesWithAddress(t *testing.T) {
	for name, c := range map[string]struct {
		proto, kind byte
		want        bool
	}{
		"local":      {unix.RTPROT_KERNEL, unix.RTN_LOCAL, true},
		"multicast":  {unix.RTPROT_KERNEL, unix.RTN_MULTICAST, true},
		"network":    {unix.RTPROT_KERNEL, unix.RTN_UNICAST, false},
		"somebody's": {unix.RTPROT_STATIC, unix.RTN_LOCAL, false},
	} {
		raw := routeTo(7)
		raw[5], raw[7] = c.proto, c.kind
		if got := comesWithAddress(Message{Raw: raw}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An MTU of IPv6 that is smaller than the interface's is somebody's; a larger one is left from a bond.
func TestStaleMTUIsNoSetting(t *testing.T) {
	for value, kept := range map[string]bool{"1400": true, "1500": true, "9000": false} {
		if _, ok := withoutStale(map[string]string{sysctlMTU: value}, 1500)[sysctlMTU]; ok != kept {
			t.Errorf("%s on an interface of 1500: kept %v", value, ok)
		}
	}
}

func TestAddressRequest(t *testing.T) {
	lifetimes := append(bytes32(50), bytes32(100)...)
	raw := ipv4(unix.IFA_F_SECONDARY|unix.IFA_F_PERMANENT, attribute{unix.IFA_FLAGS, bytes32(unix.IFA_F_SECONDARY | unix.IFA_F_NOPREFIXROUTE)},
		attribute{unix.IFA_LABEL, []byte("eth0:a\x00")}, attribute{unix.IFA_CACHEINFO, append(lifetimes, make([]byte, 8)...)})
	a, err := decodeAddress(raw)
	if err != nil {
		t.Fatal(err)
	}
	if want := "192.0.2.1/24 scope global label eth0:a noprefixroute dynamic"; a.Text != want || a.local != netip.MustParseAddr("192.0.2.1") {
		t.Errorf("text %q, want %q", a.Text, want)
	}
	again, alive, err := addressRequest(a.Message, 9, 60)
	if err != nil || !alive {
		t.Fatal(alive, err)
	}
	b, err := decodeAddress(again)
	if err != nil || b.Text != a.Text || b.index != 9 {
		t.Errorf("%+v, %v", b, err)
	}
	attrs, _ := attributes(again[unix.SizeofIfAddrmsg:])
	if left := find(attrs, unix.IFA_CACHEINFO); u32(left) != 0 || u32(left[4:]) != 40 {
		t.Errorf("lifetimes %v: preferred 0 and valid 40 are left", left)
	}
	if flags := u32(find(attrs, unix.IFA_FLAGS)); flags != unix.IFA_F_NOPREFIXROUTE {
		t.Errorf("flags %#x", flags)
	}
	if _, alive, _ := addressRequest(a.Message, 9, 100); alive {
		t.Error("an address that has ended is made again")
	}
}

func TestGroupsAreInTheOrderToAdd(t *testing.T) {
	v6 := func(scope byte, text string) Message {
		return Message{Text: text, Raw: []byte{unix.AF_INET6, 64, 0, scope, 0, 0, 0, 0}}
	}
	v4 := func(text string) Message { return Message{Text: text, Raw: []byte{unix.AF_INET, 24, 0, 0, 0, 0, 0, 0}} }
	got := groups([]Message{v4("a"), v4("b"), v6(0, "c"), v6(0, "d"), v6(253, "e")}, []Message{v6(253, "f")})
	var orders []string
	for _, g := range got {
		orders = append(orders, strings.Join(texts(g.want), ""))
	}
	if !reflect.DeepEqual(orders, []string{"ab", "dc", "e"}) || len(got[2].have) != 1 {
		t.Errorf("groups %v", got)
	}
}
