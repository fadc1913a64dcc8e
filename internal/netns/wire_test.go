package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"bondrepro/internal/traffic"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// raise sets a near end up with an address.
func raise(name, address string) (netlink.Link, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, err
	}
	a, err := netlink.ParseAddr(address)
	if err != nil {
		return nil, err
	}
	if a.IP.To4() == nil {
		a.Flags = unix.IFA_F_NODAD
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("0"), 0); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(netlink.LinkSetMTU(link, 9000), netlink.AddrAdd(link, a), netlink.LinkSetUp(link)); err != nil {
		return nil, err
	}
	return link, awaitUp(name)
}

// awaitUp waits until linkwatch has seen an interface's carrier. Without that a near end has a noop qdisc, and a far
// end no route for IPv6 multicast.
func awaitUp(name string) error {
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		now, err := netlink.LinkByName(name)
		if err != nil || now.Attrs().OperState == netlink.OperUp {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is %v", name, now.Attrs().OperState)
		}
	}
}

// What is sent out of a near end comes out of its own far end, all of it and nothing else.
func TestWhatIsSentArrives(t *testing.T) {
	needRoot(t)
	for _, c := range []struct {
		name, group, address string
		queues               int
	}{
		{"one queue", "239.66.1.1", "192.0.2.1/24", 1},
		{"four queues", "239.66.1.1", "192.0.2.1/24", 4},
		{"IPv6", "ff15::66:1", "2001:db8::1/64", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := place(t, Config{Slaves: 2, Queues: c.queues})
			tr := scenarios.Default().Traffic
			tr.Groups, tr.Senders, tr.Duration = scenarios.Groups{c.group}, 2, scenarios.Duration(500*time.Millisecond)
			tr.Rate = scenarios.Rate{} // as fast as it goes

			var receivers *traffic.Receivers
			inFar(t, p, func() (err error) {
				var ends []int
				for _, name := range []string{"far0", "far1"} {
					link, err := netlink.LinkByName(name)
					if err != nil {
						return err
					}
					ends = append(ends, link.Attrs().Index)
				}
				receivers, err = traffic.Listen(traffic.ReceiveConfig{Ifindexes: ends, Traffic: tr})
				return err
			})
			defer receivers.Close()
			const run = 7
			receivers.Begin(run)
			var sent uint64
			within(t, p, func() error {
				link, err := raise("eth1", c.address)
				if err != nil {
					return err
				}
				inFar(t, p, func() error { return awaitUp("far1") })
				group, err := traffic.Open(traffic.Config{Traffic: tr, Run: run, Ifindex: link.Attrs().Index})
				if err != nil {
					return err
				}
				defer group.Close()
				group.Start(t.Context())
				group.Wait()
				for _, s := range group.Senders() {
					sent += s.OK
					if len(s.Other) > 0 {
						t.Errorf("refused: %v", s.Other)
					}
				}
				return nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			if err := receivers.WaitIdle(ctx, quiet); err != nil {
				t.Fatal(err)
			}
			wire := receivers.End()
			others := foreign(wire)
			delete(others, "mld") // the near end announces its address
			delete(others, "nd")
			if sent == 0 || wire.Slaves[1].Ours+wire.Slaves[1].Overflow != sent || wire.Slaves[0].Frames != 0 || len(others) != 0 {
				t.Errorf("%d sent; the lines brought %d and %d (and %d more found no room), foreign %v", sent, wire.Slaves[0].Frames, wire.Slaves[1].Ours, wire.Slaves[1].Overflow, others)
			}
			if in := received(t, p, "eth1"); in != 0 {
				t.Errorf("%d frames came back to the near end", in)
			}
		})
	}
}

func foreign(w result.Wire) map[string]uint64 {
	all := map[string]uint64{}
	for _, s := range w.Slaves {
		for kind, n := range s.Foreign {
			all[kind] += n
		}
	}
	return all
}

// received is the rx_packets of a near end.
func received(t *testing.T, p *Place, name string) (packets uint64) {
	t.Helper()
	within(t, p, func() error {
		link, err := netlink.LinkByName(name)
		if err == nil {
			packets = link.Attrs().Statistics.RxPackets
		}
		return err
	})
	return packets
}

// The cable between the bonds carries LACPDUs, both ways, and nothing else.
func TestTheCableCarriesLACPOnly(t *testing.T) {
	needRoot(t)
	p := place(t, Config{Slaves: 2, Partner: true})
	within(t, p, func() error {
		names := []string{"eth0", "eth1", "eth2", "eth3"}
		for i, name := range names {
			if _, err := raise(name, fmt.Sprintf("192.0.2.%d/32", i+1)); err != nil {
				return err
			}
		}
		for i, from := range names {
			to := names[(i+2)%4]
			before := counts(t, names)
			// The second would come first if it came at all.
			if err := errors.Join(sendFrame(from, unix.ETH_P_ARP), sendFrame(from, unix.ETH_P_SLOW)); err != nil {
				return err
			}
			for end := time.Now().Add(limit); counts(t, names)[to] == before[to]; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					return fmt.Errorf("no LACPDU came from %s to %s", from, to)
				}
			}
			before[to]++
			if now := counts(t, names); fmt.Sprint(now) != fmt.Sprint(before) {
				t.Errorf("an LACPDU and an ARP request from %s to %s: received %v, want %v", from, to, now, before)
			}
		}
		return nil
	})
}

// counts are the rx_packets of the calling thread's interfaces.
func counts(t *testing.T, names []string) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	for _, name := range names {
		link, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = link.Attrs().Statistics.RxPackets
	}
	return all
}

// sendFrame sends an empty frame of a type to the slow protocols' address.
func sendFrame(name string, ethertype uint16) error {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	frame := append([]byte{0x01, 0x80, 0xc2, 0, 0, 2}, i.HardwareAddr...)
	frame = append(frame, byte(ethertype>>8), byte(ethertype))
	frame = append(frame, make([]byte, 110)...)
	return unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Protocol: htons(ethertype), Ifindex: i.Index})
}
