package qdisctree

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// dumpTries is how often a dump is begun again that was interrupted by a change (NLM_F_DUMP_INTR).
const dumpTries = 20

// Read reads the tree of an interface in the calling thread's network namespace; the caller locks the thread if that
// is not the process's own.
func Read(ifindex int) (Tree, error) {
	t, err := readLink(ifindex)
	if err != nil {
		return Tree{}, err
	}
	if t.Qdiscs, err = readQdiscs(ifindex); err != nil {
		return Tree{}, failed("dump the qdiscs", t.Dev, err)
	}
	if t.Classes, err = readClasses(ifindex); err != nil {
		return Tree{}, failed("dump the classes", t.Dev, err)
	}
	for _, place := range t.filterPlaces() {
		filters, err := readFilters(ifindex, place)
		if err != nil {
			return Tree{}, failed("dump the filters", t.Dev, err)
		}
		t.Filters = append(t.Filters, filters...)
	}
	return t, nil
}

func failed(op, object string, err error) error { return fmt.Errorf("%s: %s: %w", op, object, err) }

// readLink reads what the default qdisc depends on.
func readLink(ifindex int) (Tree, error) {
	link, err := netlink.LinkByIndex(ifindex)
	if err != nil {
		return Tree{}, failed("read the interface", fmt.Sprintf("ifindex %d", ifindex), err)
	}
	a := link.Attrs()
	t := Tree{Dev: a.Name, Up: a.RawFlags&unix.IFF_UP != 0, MTU: uint32(a.MTU), TxQueueLen: uint32(max(a.TxQLen, 0))}
	// Only the first network namespace has it.
	if kind, err := os.ReadFile("/proc/sys/net/core/default_qdisc"); err == nil {
		t.Default = strings.TrimSpace(string(kind))
	}
	return t, nil
}

// readQdiscs reads what `tc qdisc show dev DEV` lists. A dump is of all interfaces: kernels ignore tcm_ifindex in it.
func readQdiscs(ifindex int) ([]Qdisc, error) {
	var list []Qdisc
	err := dump(unix.RTM_GETQDISC, unix.RTM_NEWQDISC, ifindex, 0, func() { list = nil }, func(m message) {
		if m.ifindex == ifindex {
			list = append(list, m.qdisc())
		}
	})
	return list, err
}

// readClasses reads the classes that somebody added.
func readClasses(ifindex int) ([]Class, error) {
	var list []Class
	err := dump(unix.RTM_GETTCLASS, unix.RTM_NEWTCLASS, ifindex, 0, func() { list = nil }, func(m message) {
		if _, added := classKinds[m.kind]; added && m.ifindex == ifindex {
			list = append(list, m.class())
		}
	})
	return list, err
}

// filterPlaces are all places where filters may be: a dump is of one.
func (t Tree) filterPlaces() []uint32 {
	var places []uint32
	for _, q := range t.Qdiscs {
		switch {
		case q.Kind == "clsact":
			places = append(places, clsactIngress, clsactEgress)
		case q.Parent == handleIngress: // its one list of filters is found at any class
			places = append(places, clsactIngress)
		case q.Handle != 0 || q.Parent == handleRoot:
			places = append(places, q.Handle) // 0 stands for the root
		}
	}
	for _, c := range t.Classes {
		places = append(places, c.Handle)
	}
	return places
}

// readFilters reads the filters at one place. A filter comes as one message for its priority and one for each of its parts.
func readFilters(ifindex int, place uint32) ([]Filter, error) {
	var list []Filter
	err := dump(unix.RTM_GETTFILTER, unix.RTM_NEWTFILTER, ifindex, place, func() { list = nil }, func(m message) {
		if f := m.filter(place); !slices.Contains(list, f) {
			list = append(list, f)
		}
	})
	return list, err
}

// dump makes one dump, again from the start, which begin is told, when it was interrupted.
func dump(get, answer int, ifindex int, parent uint32, begin func(), got func(message)) error {
	var err error
	for range dumpTries {
		begin()
		request := nl.NewNetlinkRequest(get, unix.NLM_F_DUMP)
		request.AddData(&nl.TcMsg{Ifindex: int32(ifindex), Parent: parent})
		err = request.ExecuteIter(unix.NETLINK_ROUTE, uint16(answer), func(msg []byte) bool {
			if m, ok := decode(msg); ok {
				got(m)
			}
			return true
		})
		if !errors.Is(err, nl.ErrDumpInterrupted) {
			return err
		}
	}
	return err
}
