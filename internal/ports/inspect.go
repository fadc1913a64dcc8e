package ports

import (
	"fmt"
	"slices"
	"strings"

	"bondrepro/reproducer/result"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
)

// Inspect reads all there is to know of an interface of the calling thread's network namespace. /sys has to be that
// namespace's, too, as `ip netns exec` sees to. One that is not there is told with those that are.
func Inspect(name string) (Facts, error) {
	links, err := readLinks()
	if err != nil {
		return Facts{}, err
	}
	at := slices.IndexFunc(links, func(l link) bool { return l.Name == name })
	if at < 0 {
		return Facts{}, fmt.Errorf("there is no interface %s here: there are %s", name, strings.Join(names(links), ", "))
	}
	f := links[at].facts(links)
	root := tree("/")
	if err := root.sameNamespace(f); err != nil {
		return Facts{}, err
	}
	if f.Addresses, err = readAddresses(f.Ifindex); err != nil {
		return Facts{}, err
	}
	if err := ask(&f); err != nil {
		return Facts{}, err
	}
	root.port(&f)
	on := append([]string{name}, root.above(name)...)
	if err := routed(&f, links, on); err != nil {
		return Facts{}, err
	}
	f.SSH, err = sshThrough(root, links, on)
	return f, err
}

// ask takes what the driver tells; one that has no such thing, as veth has no rings, is left without.
func ask(f *Facts) error {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("ethtool %s: %w", f.Name, err)
	}
	defer e.Close()
	if d, err := e.DriverInfo(f.Name); err == nil {
		f.Driver, f.Firmware, f.Bus = d.Driver, told(d.FwVersion), told(d.BusInfo)
	}
	if f.Kind == "bond" { // its ABI's version (bond_ethtool_get_drvinfo, drivers/net/bonding/bond_main.c)
		f.Firmware = ""
	}
	if r, err := e.GetRing(f.Name); err == nil {
		f.Rings = &result.PortRings{RX: int(r.RxPending), TX: int(r.TxPending), RXMax: int(r.RxMaxPending), TXMax: int(r.TxMaxPending)}
	}
	if c, err := e.GetChannels(f.Name); err == nil {
		f.Channels = &result.PortChannels{RX: int(c.RxCount), TX: int(c.TxCount), Combined: int(c.CombinedCount), TXMax: int(max(c.MaxTx, c.MaxCombined))}
	}
	if p, err := e.GetPause(f.Name); err == nil {
		f.Pause = &result.PortPause{Autoneg: p.Autoneg != 0, RX: p.RxPause != 0, TX: p.TxPause != 0}
	}
	if features, err := e.Features(f.Name); err == nil {
		f.Offloads = features
	}
	return nil
}

// told leaves out what drivers write when they have nothing to tell.
func told(s string) string {
	if s == "N/A" {
		return ""
	}
	return s
}

// Counters are the port's own, by the names the driver gives them: `ethtool -S`. They are empty where it has none. They
// lag what the port sent: wait for result.CounterLag of its driver before.
func Counters(name string) (map[string]uint64, error) {
	if _, err := netlink.LinkByName(name); err != nil {
		return nil, fmt.Errorf("ip link show %s: %w", name, err)
	}
	e, err := ethtool.NewEthtool()
	if err != nil {
		return nil, fmt.Errorf("ethtool -S %s: %w", name, err)
	}
	defer e.Close()
	all, err := e.Stats(name)
	if err != nil { // EOPNOTSUPP, or a driver without the names
		return map[string]uint64{}, nil
	}
	return all, nil
}
