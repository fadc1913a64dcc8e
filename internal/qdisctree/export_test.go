package qdisctree

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Recorded is what the kernel dumped of an interface.
type Recorded struct {
	Qdiscs, Classes [][]byte
}

// Record dumps once.
func Record(ifindex int) (r Recorded, err error) {
	for _, d := range []struct {
		get, answer int
		to          *[][]byte
	}{{unix.RTM_GETQDISC, unix.RTM_NEWQDISC, &r.Qdiscs}, {unix.RTM_GETTCLASS, unix.RTM_NEWTCLASS, &r.Classes}} {
		request := nl.NewNetlinkRequest(d.get, unix.NLM_F_DUMP)
		request.AddData(&nl.TcMsg{Ifindex: int32(ifindex)})
		list, err := request.Execute(unix.NETLINK_ROUTE, uint16(d.answer))
		if err != nil {
			return r, err
		}
		for _, msg := range list {
			if m, ok := decode(msg); ok && m.ifindex == ifindex {
				*d.to = append(*d.to, msg)
			}
		}
	}
	return r, nil
}

// Decode is Read from recorded messages.
func Decode(r Recorded, t Tree) (Tree, error) {
	for _, msg := range r.Qdiscs {
		m, ok := decode(msg)
		if !ok {
			return t, fmt.Errorf("a message of %d bytes", len(msg))
		}
		t.Qdiscs = append(t.Qdiscs, m.qdisc())
	}
	for _, msg := range r.Classes {
		if m, ok := decode(msg); ok && classKinds[m.kind].settings != nil {
			t.Classes = append(t.Classes, m.class())
		}
	}
	return t, nil
}

// Commands are those of the plan between two trees.
func Commands(want, have Tree) []string {
	var list []string
	for _, s := range plan(want, have) {
		list = append(list, s.command)
	}
	return list
}

// CodelTime is codelTime.
var CodelTime = codelTime

// Burst is rate.burst and rate.time of a rate in bytes a second.
func Burst(bytesPerSecond uint64, ticks uint32) (size uint32, ok bool) {
	return rate{bytes: bytesPerSecond}.burst(ticks)
}

// Ticks is what is dumped for a burst in bytes.
func Ticks(bytesPerSecond uint64, size uint32) uint32 {
	return uint32(rate{bytes: bytesPerSecond}.time(size) / tick)
}
