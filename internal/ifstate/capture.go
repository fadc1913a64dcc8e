package ifstate

import (
	"errors"
	"fmt"
	"slices"

	"bondrepro/internal/qdisctree"

	"golang.org/x/sys/unix"
)

// childKinds are the interfaces that go down with the one below them.
var childKinds = []string{"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"}

// Capture reads the state of the named interfaces, of the bonds they are slaves of, and of all slaves of these bonds.
// An interface that does not exist is an error.
func Capture(names []string) (State, error) {
	all, err := links()
	if err != nil {
		return State{}, err
	}
	var indices []int
	for _, name := range names {
		l := byName(all, name)
		if l == nil {
			return State{}, fmt.Errorf("%s: no such interface", name)
		}
		indices = append(indices, l.index)
	}
	named := slices.Clone(indices)
	for i := 0; i < len(indices); i++ { // the list grows
		l := byIndex(all, indices[i])
		var more []int
		if m := byIndex(all, l.master); m != nil && m.kind == "bond" {
			more = append(more, m.index)
		}
		if l.kind == "bond" {
			for _, s := range all {
				if s.master == l.index {
					more = append(more, s.index)
				}
			}
		}
		for _, index := range more {
			if !slices.Contains(indices, index) {
				indices = append(indices, index)
			}
		}
	}
	return capture(all, indices, named, nil)
}

// capture reads the state of the interfaces with these indices, those of them that exist. As renames interfaces in
// what is written: an index whose interface is called otherwise now has its old name there.
func capture(all []link, indices, named []int, as map[int]string) (State, error) {
	boot, err := bootID()
	if err != nil {
		return State{}, err
	}
	now, err := bootTime()
	if err != nil {
		return State{}, err
	}
	c := collector{all: all, named: named, as: as}
	if c.tool, err = openEthtool(); err != nil {
		return State{}, err
	}
	defer c.tool.close()
	state := State{BootID: boot, Taken: now}
	slices.Sort(indices)
	for _, index := range indices {
		l := byIndex(all, index)
		if l == nil {
			continue
		}
		i, err := c.one(*l)
		if errors.Is(err, unix.ENODEV) {
			continue // it went meanwhile
		}
		if err != nil {
			return State{}, err
		}
		state.Interfaces = append(state.Interfaces, i)
	}
	return state, c.messages(&state)
}

// collector reads interfaces.
type collector struct {
	all   []link
	named []int
	as    map[int]string
	tool  ethtool
}

// name is an interface's name in what is written.
func (c collector) name(index int) string {
	if name, ok := c.as[index]; ok {
		return name
	}
	return nameOf(c.all, index)
}

// one reads what is the interface's own.
func (c collector) one(l link) (Interface, error) {
	i := Interface{
		Ifindex: l.index, Name: c.name(l.index), Named: slices.Contains(c.named, l.index), PermanentMAC: c.permanentMAC(l),
		Kind: l.kind, MAC: l.mac, MTU: l.mtu, TxQueueLen: l.txQueueLen, Flags: l.flags & settable, Group: l.group, LinkMode: l.mode,
		Carrier: l.flags&unix.IFF_LOWER_UP != 0, OperState: operText(l.oper), XDP: l.xdp,
	}
	if l.master != 0 {
		i.Master = c.name(l.master)
		if m := byIndex(c.all, l.master); m != nil {
			i.MasterKind = m.kind
		}
	}
	for _, child := range c.all {
		if child.parent == l.index && slices.Contains(childKinds, child.kind) {
			i.Children = append(i.Children, fmt.Sprintf("%s (%s)", child.name, child.kind))
		}
	}
	if l.slaveKind == "bond" {
		i.Slave = readSlave(l)
	}
	var err error
	if l.kind == "bond" {
		if i.Bond, err = readBond(l.name); err != nil {
			return i, err
		}
		for n, slave := range i.Bond.Slaves {
			if s := byName(c.all, slave); s != nil {
				i.Bond.Slaves[n] = c.name(s.index)
			}
		}
	}
	if i.Features, err = c.tool.features(l.name); err != nil {
		return i, err
	}
	i.Channels = c.tool.channels(l.name)
	if i.Sysctls, err = sysctls(l.name); err != nil {
		return i, err
	}
	i.Sysctls = withoutStale(i.Sysctls, i.MTU)
	i.Qdiscs, err = qdisctree.Read(l.index)
	return i, err
}

// permanentMAC asks the driver where the kernel does not tell (before Linux 5.6).
func (c collector) permanentMAC(l link) string {
	if l.permanentMAC != "" {
		return l.permanentMAC
	}
	return c.tool.permanentMAC(l.name)
}

// messages reads what is listed for all interfaces at once.
func (c collector) messages(s *State) error {
	of := map[int]*Interface{}
	for i := range s.Interfaces {
		of[s.Interfaces[i].Ifindex] = &s.Interfaces[i]
	}
	all, err := addresses()
	if err != nil {
		return err
	}
	owner := map[string]*Interface{}
	for _, a := range all {
		i := of[a.index]
		if i == nil {
			continue
		}
		owner[a.local.String()] = i
		i.Addresses = append(i.Addresses, a.Message)
		if a.tentative {
			i.Tentative = append(i.Tentative, a.Text)
		}
	}
	table, err := routes(c.name)
	if err != nil {
		return err
	}
	for _, r := range table {
		if i := ownerOf(r, of, owner); i != nil {
			i.Routes = append(i.Routes, r.Message)
		}
	}
	entries, err := neighbours()
	if err != nil {
		return err
	}
	for _, n := range entries {
		if i := of[n.index]; i != nil {
			i.Neighbours = append(i.Neighbours, n.Message)
		}
	}
	static, err := staticMulticast()
	if err != nil {
		return err
	}
	groups, err := memberships()
	if err != nil {
		return err
	}
	for index, i := range of {
		i.Multicast, i.Memberships = static[index], groups[index]
	}
	return nil
}

// ownerOf is the interface that a route is written down with: the first it goes out of, or the one whose address it
// sends from, as a route goes when that address does (fib_sync_down_addr, net/ipv4/fib_semantics.c).
func ownerOf(r route, of map[int]*Interface, owner map[string]*Interface) *Interface {
	for _, index := range r.indices {
		if i := of[index]; i != nil {
			return i
		}
	}
	if r.source.IsValid() {
		return owner[r.source.String()]
	}
	return nil
}
