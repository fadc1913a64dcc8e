package bondctl

import (
	"fmt"
	"maps"
	"slices"

	"github.com/safchain/ethtool"
)

// featureNames maps the short names of `ethtool -K` to the kernel's (net/ethtool/common.c,
// netdev_features_strings).
var featureNames = map[string][]string{
	"tso": {"tx-tcp-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp6-segmentation"},
	"gso": {"tx-generic-segmentation"},
	"gro": {"rx-gro"},
	"sg":  {"tx-scatter-gather"},
	"tx":  {"tx-checksum-ip-generic"},
	"rx":  {"rx-checksum"},
}

// completionDrivers are those whose tx_packets moves when the device has sent a packet, not when the driver
// took it (virtio_net: free_old_xmit_skbs, drivers/net/virtio_net.c).
var completionDrivers = []string{"virtio_net"}

// NIC is what ethtool tells of an interface.
type NIC struct {
	Driver            string
	TxRing            int  // TX descriptors; 0 when the driver has no such thing
	CountsCompletions bool // tx_packets counts at completion
}

// InspectNIC asks the driver. A driver without ring parameters has ring 0.
func InspectNIC(name string) (NIC, error) {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return NIC{}, failed("ethtool", name, err)
	}
	defer e.Close()
	driver, err := e.DriverName(name)
	if err != nil {
		return NIC{}, failed("ethtool -i", name, err)
	}
	nic := NIC{Driver: driver, CountsCompletions: slices.Contains(completionDrivers, driver)}
	if ring, err := e.GetRing(name); err == nil {
		nic.TxRing = int(ring.TxPending)
	}
	return nic, nil
}

// SetOffload turns features on or off, each by its short name (tso, gso, gro, sg, tx, rx), and reads them
// back: `ethtool -K DEV FEATURE on|off`.
func SetOffload(name string, features map[string]bool) error {
	if len(features) == 0 {
		return nil
	}
	e, err := ethtool.NewEthtool()
	if err != nil {
		return failed("ethtool", name, err)
	}
	defer e.Close()
	have, err := e.Features(name)
	if err != nil {
		return failed("ethtool -k", name, err)
	}
	change := map[string]bool{}
	for short, on := range features {
		long, ok := featureNames[short]
		if !ok {
			return fmt.Errorf("offload %s: no such feature; known are %v", short, slices.Sorted(maps.Keys(featureNames)))
		}
		for _, f := range long {
			if _, exists := have[f]; exists {
				change[f] = on
			}
		}
	}
	if err := e.Change(name, change); err != nil {
		return failed("ethtool -K", name, err)
	}
	now, err := e.Features(name)
	if err != nil {
		return failed("ethtool -k", name, err)
	}
	for f, on := range change {
		if now[f] != on {
			return &MismatchError{Object: name, Option: f, Want: fmt.Sprint(on), Got: fmt.Sprint(now[f])}
		}
	}
	return nil
}
