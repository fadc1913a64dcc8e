package ifstate

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// typeMask leaves an attribute's type without its flags (NLA_TYPE_MASK, include/uapi/linux/netlink.h).
const typeMask = 0x3fff

// dumpTries is how often a dump is asked for that changes of other programs interrupt.
const dumpTries = 20

// payload is raw bytes as a part of a request.
type payload []byte

func (p payload) Len() int          { return len(p) }
func (p payload) Serialize() []byte { return p }

// dump asks for all objects of a kind. what is for the error.
func dump(what string, request, reply uint16, flags int, header []byte) ([][]byte, error) {
	nl.EnableErrorMessageReporting = true // the kernel's own text beside the errno
	var err error
	for range dumpTries {
		req := nl.NewNetlinkRequest(int(request), unix.NLM_F_DUMP|flags)
		req.AddData(payload(header))
		var all [][]byte
		if all, err = req.Execute(unix.NETLINK_ROUTE, reply); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, failed("list", what, err)
		}
	}
	return nil, failed("list", what, err)
}

// send sends one request that changes something.
func send(kind uint16, flags int, raw []byte) error {
	nl.EnableErrorMessageReporting = true
	req := nl.NewNetlinkRequest(int(kind), unix.NLM_F_ACK|flags)
	req.AddData(payload(raw))
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	return err
}

func failed(op, object string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", op, object, err)
}

// attribute is one rtnetlink attribute.
type attribute struct {
	kind  uint16
	value []byte
}

// attributes are the attributes of a message in their order, without the flags that a nested one has.
func attributes(b []byte) ([]attribute, error) {
	list, err := nl.ParseRouteAttr(b)
	if err != nil {
		return nil, fmt.Errorf("attributes of an rtnetlink message: %w", err)
	}
	all := make([]attribute, len(list))
	for i, a := range list {
		all[i] = attribute{a.Attr.Type & typeMask, a.Value}
	}
	return all, nil
}

// find is an attribute's value, nil where there is none.
func find(all []attribute, kind uint16) []byte {
	for _, a := range all {
		if a.kind == kind {
			return a.value
		}
	}
	return nil
}

// join is a message again.
func join(header []byte, all []attribute) []byte {
	raw := append([]byte(nil), header...)
	for _, a := range all {
		raw = append(raw, nl.NewRtAttr(int(a.kind), a.value).Serialize()...)
		for len(raw)%unix.NLMSG_ALIGNTO != 0 {
			raw = append(raw, 0)
		}
	}
	return raw
}

func u32(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(b)
}

func bytes32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// text is a string attribute.
func text(b []byte) string { return unix.ByteSliceToString(b) }
