package bondctl

import (
	"errors"
	"os"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// readings are what Show is made of, as the kernel gave it, so that a test can have them from a file.
type readings struct {
	Kernel    string                `json:"kernel"`
	Links     [][]byte              `json:"links"`     // payloads of RTM_NEWLINK
	Addresses [][]byte              `json:"addresses"` // of RTM_NEWADDR
	Qdiscs    [][]byte              `json:"qdiscs"`    // of RTM_NEWQDISC
	Proc      map[string]string     `json:"proc"`      // /proc/net/bonding/NAME, by the bond's name
	NICs      map[string]nicReading `json:"nics"`      // by the slave's name
}

// nicReading is what ethtool tells of a slave.
type nicReading struct {
	Driver string `json:"driver"`
	Speed  uint32 `json:"speed"`  // Mbit/s
	Duplex uint8  `json:"duplex"` // DUPLEX_HALF 0, DUPLEX_FULL 1, else unknown
}

// dumpTries bounds how often a dump that something else changed meanwhile is asked for again.
const dumpTries = 10

// dumpAll asks for all objects of a kind: `ip link`, `ip address`, `tc qdisc`.
func dumpAll(request int, answer uint16, header nl.NetlinkRequestData) (messages [][]byte, err error) {
	for range dumpTries {
		req := nl.NewNetlinkRequest(request, unix.NLM_F_DUMP)
		req.AddData(header)
		messages, err = req.Execute(unix.NETLINK_ROUTE, answer)
		if !errors.Is(err, nl.ErrDumpInterrupted) {
			return messages, err
		}
	}
	return nil, err
}

// takeReadings asks the kernel, in the calling thread's network namespace.
func takeReadings() (r readings, err error) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return r, failed("uname", "the kernel", err)
	}
	r.Kernel = unix.ByteSliceToString(uts.Release[:])
	if r.Links, err = dumpAll(unix.RTM_GETLINK, unix.RTM_NEWLINK, nl.NewIfInfomsg(unix.AF_UNSPEC)); err != nil {
		return r, failed("ip link show", "all links", err)
	}
	if r.Addresses, err = dumpAll(unix.RTM_GETADDR, unix.RTM_NEWADDR, nl.NewIfInfomsg(unix.AF_UNSPEC)); err != nil {
		return r, failed("ip address show", "all links", err)
	}
	if r.Qdiscs, err = dumpAll(unix.RTM_GETQDISC, unix.RTM_NEWQDISC, &nl.TcMsg{Family: unix.AF_UNSPEC}); err != nil {
		return r, failed("tc qdisc show", "all links", err)
	}
	e, err := ethtool.NewEthtool()
	if err != nil {
		return r, failed("ethtool", "the kernel", err)
	}
	defer e.Close()
	r.Proc, r.NICs = map[string]string{}, map[string]nicReading{}
	for _, b := range r.show().Bonds {
		// Only here the kernel tells the order of the slaves; unlike /sys this is always the thread's own namespace.
		if text, err := os.ReadFile("/proc/thread-self/net/bonding/" + b.Name); err == nil {
			r.Proc[b.Name] = string(text)
		}
		for _, s := range b.Slaves {
			r.NICs[s.Name] = readNIC(e, s.Name)
		}
	}
	return r, nil
}

// readNIC takes what the driver tells: one that has no speed, as dummy, is shown without.
func readNIC(e *ethtool.Ethtool, name string) nicReading {
	nic := nicReading{Speed: unknownSpeed, Duplex: 0xff}
	if driver, err := e.DriverName(name); err == nil {
		nic.Driver = driver
	}
	// Not GetLinkSettings, which writes a warning to stdout on kernels with more link modes than it knows (6.12).
	var link ethtool.EthtoolCmd
	if speed, err := e.CmdGet(&link, name); err == nil {
		nic.Speed, nic.Duplex = speed, link.Duplex
	}
	return nic
}
