package bondctl

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// typeMask leaves an attribute's type without its flags (NLA_TYPE_MASK, include/uapi/linux/netlink.h).
const typeMask = 0x3fff

// attributes are the attributes in a payload by their type, without the flags that a nested one has.
func attributes(payload []byte) (map[uint16][]byte, error) {
	list, err := nl.ParseRouteAttr(payload)
	if err != nil {
		return nil, fmt.Errorf("attributes of a link: %w", err)
	}
	all := make(map[uint16][]byte, len(list))
	for _, a := range list {
		all[a.Attr.Type&typeMask] = a.Value
	}
	return all, nil
}

// linkKind is what a message changes: a bond itself, or what a slave has of its bond.
type linkKind struct {
	kind, data int // attributes in IFLA_LINKINFO
	table      []option
}

var (
	ofBond  = linkKind{nl.IFLA_INFO_KIND, nl.IFLA_INFO_DATA, bondTable}
	ofSlave = linkKind{nl.IFLA_INFO_SLAVE_KIND, nl.IFLA_INFO_SLAVE_DATA, slaveTable}
)

// linkInfo is the IFLA_LINKINFO that sets options.
func (k linkKind) linkInfo(options []Option, d devices) (*nl.RtAttr, error) {
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(k.kind, nl.NonZeroTerminated("bond"))
	data := info.AddRtAttr(k.data, nil)
	for _, o := range options {
		known := find(k.table, o.Name)
		if known == nil {
			return nil, fmt.Errorf("no such option: %s", o.Name)
		}
		payload, err := known.form.encode(o.Value, d)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.Name, o.Value, err)
		}
		data.AddRtAttr(int(known.attr), payload)
	}
	return info, nil
}

// newLink sends RTM_NEWLINK: for an interface that is there, by its index, or with flags that create one.
func newLink(index, flags int, attrs ...*nl.RtAttr) error {
	req := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK|flags)
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(index)
	req.AddData(msg)
	for _, a := range attrs {
		req.AddData(a)
	}
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	return err
}

// dumpLinks are the messages of all interfaces.
func dumpLinks() ([][]byte, error) {
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
	req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	return req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
}
