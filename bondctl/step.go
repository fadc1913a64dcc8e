package bondctl

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Step is one thing to do to one interface.
type Step interface {
	// Command is the command line that does the same, in words. A step that only waits is a comment.
	Command() []string
	// run does it.
	run(ctx context.Context, c *Client) error
}

// CommandLine is a step's command as it can be pasted into a shell.
func CommandLine(s Step) string {
	words := s.Command()
	if words[0] == "#" {
		return strings.Join(words, " ")
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quote writes a word so that a shell takes it as it is.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// words are options as ip takes them.
func optionWords(options []Option) []string {
	var all []string
	for _, o := range options {
		all = append(all, o.Name, o.Value)
	}
	return all
}

// createBond makes the bond, with every option that needs no slave: it is down then and has none, so all are allowed,
// and the kernel takes them in its own order (bond_changelink, drivers/net/bonding/bond_netlink.c).
type createBond struct {
	name    string
	ifindex int // 0: the kernel's choice
	options []Option
}

func (s createBond) Command() []string {
	words := []string{"ip", "link", "add", "name", s.name}
	if s.ifindex != 0 {
		words = append(words, "index", strconv.Itoa(s.ifindex))
	}
	return append(append(words, "type", "bond"), optionWords(s.options)...)
}

func (s createBond) run(context.Context, *Client) error {
	const op = "ip link add type bond"
	info, err := ofBond.linkInfo(s.options, anyDevice{})
	if err != nil {
		return failed(op, s.name, err)
	}
	err = newLink(s.ifindex, unix.NLM_F_CREATE|unix.NLM_F_EXCL, nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(s.name)), info)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return &UnsupportedError{What: "bonding", Err: err}
	case errors.Is(err, unix.EEXIST):
		return failed(op, s.name, fmt.Errorf("%w: it came just now; bonding makes a bond0 when it is loaded without max_bonds=0", err))
	}
	return failed(op, s.name, err)
}

// setOptions sets options of a bond, or of a slave, that is there.
type setOptions struct {
	name    string
	kind    linkKind
	options []Option
}

func (s setOptions) Command() []string {
	kind := "bond"
	if s.kind.kind == ofSlave.kind {
		kind = "bond_slave"
	}
	return append([]string{"ip", "link", "set", "dev", s.name, "type", kind}, optionWords(s.options)...)
}

func (s setOptions) run(_ context.Context, c *Client) error {
	op := strings.Join(s.Command(), " ")
	info, err := s.kind.linkInfo(s.options, c)
	if err != nil {
		return failed(op, s.name, err)
	}
	index, err := c.indexOf(s.name)
	if err != nil {
		return err
	}
	return failed(op, s.name, newLink(index, 0, info))
}

// indexOf is the index of an interface.
func (c *Client) indexOf(name string) (int, error) {
	link, err := c.nl.LinkByName(name)
	if err != nil {
		return 0, failed("ip link show", name, err)
	}
	return link.Attrs().Index, nil
}

// setLink sets one property of an interface: up, down, nomaster, mtu, txqueuelen, master.
type setLink struct {
	name, property, value string // value is "" for the first three
}

func (s setLink) Command() []string {
	words := []string{"ip", "link", "set", "dev", s.name, s.property}
	if s.value != "" {
		words = append(words, s.value)
	}
	return words
}

// linkSetters do what setLink's properties say; value is a number, or a master's index.
var linkSetters = map[string]func(h *netlink.Handle, link netlink.Link, value int) error{
	"up":         func(h *netlink.Handle, l netlink.Link, _ int) error { return h.LinkSetUp(l) },
	"down":       func(h *netlink.Handle, l netlink.Link, _ int) error { return h.LinkSetDown(l) },
	"nomaster":   func(h *netlink.Handle, l netlink.Link, _ int) error { return h.LinkSetNoMaster(l) },
	"mtu":        (*netlink.Handle).LinkSetMTU,
	"txqueuelen": (*netlink.Handle).LinkSetTxQLen,
	"master":     (*netlink.Handle).LinkSetMasterByIndex,
}

func (s setLink) run(_ context.Context, c *Client) error {
	link, err := c.nl.LinkByName(s.name)
	if err != nil {
		return failed("ip link show", s.name, err)
	}
	value := 0
	switch {
	case s.property == "master":
		value, err = c.indexOf(s.value)
	case s.value != "":
		value, err = strconv.Atoi(s.value)
	}
	if err != nil {
		return err
	}
	return failed(strings.TrimSpace("ip link set "+s.property+" "+s.value), s.name, linkSetters[s.property](c.nl, link, value))
}

// deleteLink removes an interface.
type deleteLink struct{ name string }

func (s deleteLink) Command() []string { return []string{"ip", "link", "del", "dev", s.name} }

func (s deleteLink) run(_ context.Context, c *Client) error {
	link, err := c.nl.LinkByName(s.name)
	if err != nil {
		return failed("ip link show", s.name, err)
	}
	return failed("ip link del", s.name, c.nl.LinkDel(link))
}

// addAddress gives the interface an address.
type addAddress struct {
	name    string
	address netip.Prefix
	// private is an address of a measurement's own: it needs no duplicate address detection, which would make it wait,
	// and may be there from the run before.
	private bool
}

// hasBroadcast tells whether the library adds a broadcast address: of IPv4 networks that have one.
func (s addAddress) hasBroadcast() bool { return s.address.Addr().Is4() && s.address.Bits() < 31 }

func (s addAddress) Command() []string {
	words := []string{"ip", "addr", "add", s.address.String()}
	if s.hasBroadcast() {
		words = append(words, "brd", "+")
	}
	words = append(words, "dev", s.name)
	if s.private && s.address.Addr().Is6() {
		words = append(words, "nodad")
	}
	return words
}

func (s addAddress) run(_ context.Context, c *Client) error {
	link, err := c.nl.LinkByName(s.name)
	if err != nil {
		return failed("ip link show", s.name, err)
	}
	a := s.address
	addr := &netlink.Addr{IPNet: ipNet(a)}
	if !s.private {
		return failed("ip addr add "+a.String(), s.name, c.nl.AddrAdd(link, addr))
	}
	addr.Flags = unix.IFA_F_NODAD
	return failed("ip addr replace "+a.String(), s.name, c.nl.AddrReplace(link, addr))
}

// awaitSlave waits until the bond holds a slave for up: before, it can't be made the active one
// (bond_option_active_slave_set, drivers/net/bonding/bond_options.c).
type awaitSlave struct{ name string }

func (s awaitSlave) path() string { return "/sys/class/net/" + s.name + "/bonding_slave/mii_status" }

func (s awaitSlave) Command() []string {
	return []string{"#", "wait until", s.path(), "is up"}
}

func (s awaitSlave) run(ctx context.Context, _ *Client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyLimit, fmt.Errorf("%s is not up for its bond after %v: it can't be made the active slave", s.name, readyLimit))
	defer cancel()
	for {
		status, err := os.ReadFile(s.path())
		if err != nil {
			return fmt.Errorf("whether the slave is up: %w", err)
		}
		if strings.TrimSpace(string(status)) == "up" {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
