package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bondrepro/bondctl"
	"bondrepro/reproducer/result"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// listener hears what the kernel says of the slaves' links and qdiscs while a run is on. Samples would miss
// what happens between two of them.
type listener struct {
	socket *nl.NetlinkSocket
	known  known
	stop   chan struct{}
	done   sync.WaitGroup

	mu     sync.Mutex
	events []heard
	failed error // why not all was heard
}

// known is the state of the bond that notifications are held against: one that changes nothing is no event.
type known struct {
	bond   int   // ifindex
	slaves []int // ifindex
	up     []bool
	active int // ifindex of the active slave, 0 for none
}

type heard struct {
	at    time.Time
	event result.Event
}

// listen subscribes in the calling thread's namespace and reads until close.
func listen(k known) (*listener, error) {
	socket, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK, unix.RTNLGRP_TC)
	if err != nil {
		return nil, fmt.Errorf("subscribe to link and tc notifications: %w", err)
	}
	if err := socket.SetReceiveTimeout(&unix.Timeval{Usec: 50_000}); err != nil {
		socket.Close()
		return nil, fmt.Errorf("subscribe to link and tc notifications: %w", err)
	}
	l := &listener{socket: socket, known: k, stop: make(chan struct{})}
	l.done.Go(l.read)
	return l, nil
}

func (l *listener) read() {
	for {
		messages, _, err := l.socket.Receive()
		now := time.Now()
		for _, m := range messages {
			if e, ok := l.known.decode(unix.NlMsghdr(m.Header), m.Data); ok {
				l.add(now, e)
			}
		}
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			l.failed = fmt.Errorf("link and tc notifications: a change of a slave could have been missed: %w", err)
			return
		}
		select {
		case <-l.stop:
			return
		default:
		}
	}
}

func (l *listener) add(at time.Time, e result.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, heard{at, e})
}

// close stops listening and returns what was heard, timed from began.
func (l *listener) close(began time.Time) ([]result.Event, error) {
	time.Sleep(60 * time.Millisecond) // one receive timeout: what was sent before now has been read
	close(l.stop)
	l.done.Wait()
	l.socket.Close()
	if l.failed != nil {
		return nil, l.failed
	}
	events := make([]result.Event, 0, len(l.events))
	for _, h := range l.events {
		h.event.AtMS = milliseconds(h.at.Sub(began))
		events = append(events, h.event)
	}
	return events, nil
}

// decode turns an rtnetlink message about the bond or one of its slaves into an event, and takes note of it.
func (k *known) decode(header unix.NlMsghdr, data []byte) (result.Event, bool) {
	// ifinfomsg and tcmsg both have the ifindex at offset 4 (rtnetlink(7)); ifi_flags follow it.
	if len(data) < unix.SizeofIfInfomsg {
		return result.Event{}, false
	}
	ifindex := int(int32(binary.NativeEndian.Uint32(data[4:])))
	if ifindex == k.bond && header.Type == unix.RTM_NEWLINK {
		return k.bondChanged(header, data)
	}
	slave := slices.Index(k.slaves, ifindex)
	if slave < 0 {
		return result.Event{}, false
	}
	switch header.Type {
	case unix.RTM_NEWLINK:
		return k.linkChanged(slave, binary.NativeEndian.Uint32(data[8:]))
	case unix.RTM_DELLINK:
		return result.Event{Kind: result.EventLinkDown, Slave: slave, Text: "the slave's interface was deleted"}, true
	case unix.RTM_NEWQDISC:
		return result.Event{Kind: result.EventQdiscReplaced, Slave: slave, Text: "a qdisc was installed on the slave"}, true
	case unix.RTM_DELQDISC:
		return result.Event{Kind: result.EventQdiscReplaced, Slave: slave, Text: "a qdisc of the slave was deleted"}, true
	}
	return result.Event{}, false
}

func (k *known) linkChanged(slave int, flags uint32) (result.Event, bool) {
	is := bondctl.HasCarrier(flags)
	if is == k.up[slave] {
		return result.Event{}, false
	}
	k.up[slave] = is
	if is {
		return result.Event{Kind: result.EventLinkUp, Slave: slave, Text: "the slave is up with carrier again"}, true
	}
	why := "lost carrier"
	if flags&unix.IFF_UP == 0 {
		why = "was set down"
	}
	return result.Event{Kind: result.EventLinkDown, Slave: slave, Text: "the slave " + why}, true
}

func (k *known) bondChanged(header unix.NlMsghdr, data []byte) (result.Event, bool) {
	link, err := netlink.LinkDeserialize(&header, data)
	if err != nil {
		return result.Event{}, false // not about its options
	}
	bond, ok := link.(*netlink.Bond)
	if !ok || max(0, bond.ActiveSlave) == k.active {
		return result.Event{}, false
	}
	k.active = max(0, bond.ActiveSlave)
	text := "the bond has no active slave any more"
	if k.active != 0 {
		text = fmt.Sprintf("the bond's active slave is now number %d", slices.Index(k.slaves, k.active))
	}
	return result.Event{Kind: result.EventActiveSlave, Slave: -1, Text: text}, true
}

// carrierChanges is IFLA_CARRIER_CHANGES of an interface (Linux 3.15).
func carrierChanges(ifindex int) (uint32, error) {
	request := nl.NewNetlinkRequest(unix.RTM_GETLINK, 0)
	message := nl.NewIfInfomsg(unix.AF_UNSPEC)
	message.Index = int32(ifindex)
	request.AddData(message)
	answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil {
		return 0, fmt.Errorf("ip link show: interface %d: %w", ifindex, err)
	}
	for _, a := range answers {
		attrs, err := nl.ParseRouteAttr(a[unix.SizeofIfInfomsg:])
		if err != nil {
			return 0, fmt.Errorf("ip link show: interface %d: %w", ifindex, err)
		}
		for _, attr := range attrs {
			if attr.Attr.Type == unix.IFLA_CARRIER_CHANGES && len(attr.Value) >= 4 {
				return binary.NativeEndian.Uint32(attr.Value), nil
			}
		}
	}
	return 0, nil
}
