package bondctl_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/vmtest"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// seedVariable gives a test the seed that another one logged.
const seedVariable = "BONDREPRO_SEED"

// TestShowInGuest runs the tests below that begin with TestKernel on a kernel that has bonding.
func TestShowInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ip, err := vmtest.Program(ctx, "ip")
	if err != nil {
		t.Fatal(err)
	}
	vmtest.Guest{
		Modules: []string{"bonding", "veth"}, NICs: 3, Files: ip, Env: []string{seedVariable + "=" + os.Getenv(seedVariable)},
	}.Run(t, "^TestKernel")
}

func onlyInside(t *testing.T) {
	t.Helper()
	if !vmtest.Inside() {
		t.Skip("needs a guest's interfaces: TestShowInGuest runs it there")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// plainBond builds a bond without the package under test, with the slaves in that order, and waits until all are up.
// It is gone when the test ends.
func plainBond(t *testing.T, name string, set func(*netlink.Bond), slaves ...string) netlink.Link {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	b := netlink.NewLinkBond(attrs)
	b.Miimon = 20
	set(b)
	must(t, netlink.LinkAdd(b))
	t.Cleanup(func() { must(t, netlink.LinkDel(b)) })
	for _, s := range slaves {
		must(t, netlink.LinkSetDown(link(t, s)))
		must(t, netlink.LinkSetMaster(link(t, s), b))
	}
	must(t, netlink.LinkSetUp(b))
	waitFor(t, "every slave is up", func() bool {
		s, err := bondctl.ReadShow(name)
		must(t, err)
		for _, slave := range s.Bonds[0].Slaves {
			if !slave.Up || !slave.Carrier || slave.MIIStatus != "UP" {
				return false
			}
		}
		return s.Bonds[0].MIIStatus == "UP" || len(slaves) == 0
	})
	return b
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in 20 s: %s", what)
		}
	}
}

var (
	ours4 = netip.MustParsePrefix("192.0.2.1/24")
	ours6 = netip.MustParsePrefix("2001:db8::1/64")
)

// hosts are unicast destinations; each has an entry of the neighbour table, as nobody answers ARP.
var hosts = map[netip.Addr]string{
	netip.MustParseAddr("192.0.2.7"):      "52:54:00:00:00:17",
	netip.MustParseAddr("192.0.2.200"):    "52:54:00:aa:bb:c8",
	netip.MustParseAddr("2001:db8::7"):    "52:54:00:01:02:03",
	netip.MustParseAddr("2001:db8::abcd"): "52:54:00:fe:dc:ba",
}

// address gives the bond its addresses and neighbours.
func address(t *testing.T, bond netlink.Link) {
	t.Helper()
	must(t, os.WriteFile("/proc/sys/net/ipv6/conf/bond0/disable_ipv6", []byte("0"), 0))
	for _, p := range []netip.Prefix{ours4, ours6} {
		must(t, netlink.AddrAdd(bond, &netlink.Addr{
			IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}, Flags: unix.IFA_F_NODAD,
		}))
	}
	for host, text := range hosts {
		mac, err := net.ParseMAC(text)
		must(t, err)
		must(t, netlink.NeighSet(&netlink.Neigh{
			LinkIndex: bond.Attrs().Index, IP: host.AsSlice(), HardwareAddr: mac, State: netlink.NUD_PERMANENT,
		}))
	}
}

// randomFlows are groups and hosts, IPv4 and IPv6, with random ports on both sides.
func randomFlows(r *rand.Rand, n int) []bondctl.Flow {
	port := func() uint16 { return uint16(1024 + r.IntN(65536-1024)) }
	flows := make([]bondctl.Flow, n)
	for i := range flows {
		f := bondctl.Flow{Source: ours4.Addr(), SourcePort: port(), Port: port()}
		switch r.IntN(6) {
		case 0: // Go's maps are not walked in a seed's order
			f.Destination = netip.AddrFrom4([4]byte{192, 0, 2, []byte{7, 200}[r.IntN(2)]})
		case 1:
			f.Destination = netip.MustParseAddr([]string{"2001:db8::7", "2001:db8::abcd"}[r.IntN(2)])
		case 2:
			group := netip.MustParseAddr("ff0e::").As16()
			binary.BigEndian.PutUint64(group[8:], r.Uint64())
			f.Destination = netip.AddrFrom16(group)
		default:
			f.Destination = netip.AddrFrom4([4]byte{byte(232 + r.IntN(8)), byte(r.IntN(256)), byte(r.IntN(256)), byte(r.IntN(256))})
		}
		if f.Destination.Is6() {
			f.Source = ours6.Addr()
		}
		f.DestinationMAC = hosts[f.Destination]
		flows[i] = f
	}
	return flows
}

// groupFlows are the groups 239.1.1.1 to 239.1.1.16 from one socket.
func groupFlows() []bondctl.Flow {
	groups, _ := bondctl.ParseDestinations("239.1.1.1+16")
	flows := make([]bondctl.Flow, len(groups))
	for i, g := range groups {
		flows[i] = bondctl.Flow{Source: ours4.Addr(), SourcePort: 40000, Destination: g, Port: 6000}
	}
	return flows
}

// mark begins the payload of the test's own datagrams; the flow's number follows.
const mark = "bondctl predict "

// took sends one datagram a flow through the bond, and hears on each slave which it took.
func took(t *testing.T, bond netlink.Link, slaves []string, flows []bondctl.Flow) []string {
	t.Helper()
	taps := make([]int, len(slaves))
	for i, s := range slaves {
		taps[i] = tap(t, link(t, s).Attrs().Index)
		defer unix.Close(taps[i])
	}
	for i, f := range flows {
		must(t, send(bond.Attrs(), f, fmt.Appendf(nil, "%s%d\n", mark, i)))
	}
	out, heard := make([]string, len(flows)), 0
	waitFor(t, fmt.Sprintf("%d datagrams are heard", len(flows)), func() bool {
		for i, fd := range taps {
			for {
				frame := make([]byte, 256)
				n, _, err := unix.Recvfrom(fd, frame, unix.MSG_DONTWAIT)
				if err != nil {
					break
				}
				_, payload, ours := strings.Cut(string(frame[:n]), mark)
				if !ours {
					continue
				}
				number, err := strconv.Atoi(strings.TrimSpace(payload))
				must(t, err)
				if out[number] != "" {
					t.Fatalf("flow %d was heard on %s and on %s", number, out[number], slaves[i])
				}
				out[number] = slaves[i]
				heard++
			}
		}
		return heard == len(flows)
	})
	return out
}

// tap is a packet socket that hears what the interface sends.
func tap(t *testing.T, ifindex int) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	must(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20))
	must(t, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: unix.ETH_P_ALL>>8 | unix.ETH_P_ALL<<8&0xffff, Ifindex: ifindex}))
	return fd
}

// send sends one datagram from the flow's socket.
func send(bond *netlink.LinkAttrs, f bondctl.Flow, payload []byte) error {
	family := unix.AF_INET
	if f.Destination.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.BindToDevice(fd, bond.Name); err != nil {
		return err
	}
	if err := unix.Bind(fd, sockaddr(f.Source, f.SourcePort)); err != nil {
		return err
	}
	return unix.Sendto(fd, payload, 0, sockaddr(f.Destination, f.Port))
}

func sockaddr(a netip.Addr, port uint16) unix.Sockaddr {
	if a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4(), Port: int(port)}
	}
	return &unix.SockaddrInet6{Addr: a.As16(), Port: int(port)}
}

// random is a source whose seed is logged, and can be given back.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	t.Logf("seed %d (%s gives it again)", seed, seedVariable)
	return rand.New(rand.NewPCG(seed, 1))
}

// compare predicts the flows and sends them. It returns how many each slave took.
func compare(t *testing.T, bond netlink.Link, slaves []string, flows []bondctl.Flow) map[string]int {
	t.Helper()
	s, err := bondctl.ReadShow()
	must(t, err)
	p, err := bondctl.Predict(s, "bond0", flows)
	must(t, err)
	each, wrong := map[string]int{}, 0
	for i, slave := range took(t, bond, slaves, flows) {
		each[slave]++
		if p.Flows[i].Slaves[0] != slave {
			if wrong++; wrong <= 3 {
				t.Errorf("%v took %s", p.Flows[i], slave)
			}
		}
	}
	t.Logf("%s, %s, %s: %d flows, %d wrong, %v", s.Kernel, p.Formula, p.Policy, len(flows), wrong, each)
	return each
}

// Each flow goes out of the slave that Predict says, in every policy that can be predicted, over 2 and 3 slaves that
// were enslaved in another order than that of their numbers.
func TestKernelTakesWhatIsPredicted(t *testing.T) {
	onlyInside(t)
	r := random(t)
	for _, policy := range []string{"layer2", "layer2+3", "layer3+4", "encap2+3", "vlan+srcmac"} {
		for _, slaves := range [][]string{{"eth2", "eth0"}, {"eth1", "eth2", "eth0"}} {
			t.Run(fmt.Sprintf("%s/%d", policy, len(slaves)), func(t *testing.T) {
				bond := plainBond(t, "bond0", func(b *netlink.Bond) {
					b.Mode, b.XmitHashPolicy = netlink.BOND_MODE_BALANCE_XOR, netlink.StringToBondXmitHashPolicyMap[policy]
				}, slaves...)
				mac := binary.BigEndian.AppendUint64(nil, r.Uint64())[:6]
				mac[0] = 0x52 // its lowest bit would make it a group's
				must(t, netlink.LinkSetHardwareAddr(bond, mac))
				address(t, bond)
				flows := append(groupFlows(), randomFlows(r, 1000)...)
				each := compare(t, bond, slaves, flows)
				if policy != "vlan+srcmac" && len(each) != len(slaves) {
					t.Errorf("only these slaves took any: %v", each)
				}
			})
		}
	}
}

// With LACP only the ports that distribute count, and what they are is shown. The partner is a second bond at the other
// ends of veths.
func TestKernelLACP(t *testing.T) {
	onlyInside(t)
	r := random(t)
	for _, name := range []string{"p0", "p1", "p2"} {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = name
		pair := &netlink.Veth{LinkAttrs: attrs, PeerName: "far-" + name}
		must(t, netlink.LinkAdd(pair))
		must(t, netlink.LinkSetUp(pair)) // or the far ends have no carrier
		t.Cleanup(func() { must(t, netlink.LinkDel(pair)) })
	}
	lacp := func(b *netlink.Bond) {
		b.Mode, b.LacpRate, b.XmitHashPolicy = netlink.BOND_MODE_802_3AD, netlink.BOND_LACP_RATE_FAST, netlink.BOND_XMIT_HASH_POLICY_LAYER3_4
	}
	plainBond(t, "bond1", lacp, "far-p0", "far-p1", "far-p2")
	ports := []string{"p2", "p0", "p1"}
	bond := plainBond(t, "bond0", lacp, ports...)
	address(t, bond)
	distributing := func() (n int) {
		s, err := bondctl.ReadShow("bond0")
		must(t, err)
		for _, p := range s.Bonds[0].Slaves {
			if slices.Contains(p.ActorState, "distributing") && slices.Contains(p.PartnerState, "distributing") {
				n++
			}
		}
		return n
	}
	waitFor(t, "all three ports distribute", func() bool { return distributing() == 3 })
	s, err := bondctl.ReadShow("bond0")
	must(t, err)
	if l := s.Bonds[0].LACP; l == nil || l.Ports != 3 || l.PartnerMAC != link(t, "bond1").Attrs().HardwareAddr.String() {
		t.Errorf("%+v", l)
	}
	if p := s.Bonds[0].Slaves[0]; p.Name != "p2" || p.Speed != 10000 || p.Duplex != "full" || p.Driver != "veth" {
		t.Errorf("%+v", p)
	}
	recorded, err := bondctl.RecordShow()
	must(t, err)
	t.Logf("recorded 802.3ad %s", recorded)
	compareWithIP(t, s.Bonds[0])
	flows := append(groupFlows(), randomFlows(r, 1000)...)
	if each := compare(t, bond, ports, flows); len(each) != 3 {
		t.Errorf("only these ports took any: %v", each)
	}
	must(t, netlink.LinkSetDown(link(t, "far-p0")))
	waitFor(t, "two ports distribute", func() bool { return distributing() == 2 })
	if each := compare(t, bond, ports, flows); len(each) != 2 || each["p0"] > 0 {
		t.Errorf("after p0 lost its carrier: %v", each)
	}
}
