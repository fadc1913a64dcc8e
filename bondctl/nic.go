package bondctl

import (
	"context"
	"maps"
	"slices"

	"bondrepro/reproducer/result"

	"github.com/safchain/ethtool"
)

// featureNames maps the short names of `ethtool -K` to the kernel's (net/ethtool/common.c,
// netdev_features_strings).
var featureNames = map[string][]string{
	"tso":    {"tx-tcp-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp6-segmentation"},
	"gso":    {"tx-generic-segmentation"},
	"gro":    {"rx-gro"},
	"sg":     {"tx-scatter-gather"},
	"tx":     {"tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"},
	"rx":     {"rx-checksum"},
	"lro":    {"rx-lro"},
	"rxvlan": {"rx-vlan-hw-parse"},
	"txvlan": {"tx-vlan-hw-insert"},
	"ntuple": {"rx-ntuple-filter"},
	"rxhash": {"rx-hashing"},
}

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
	nic := NIC{Driver: driver, CountsCompletions: result.CountsCompletions(driver)}
	if ring, err := e.GetRing(name); err == nil {
		nic.TxRing = int(ring.TxPending)
	}
	return nic, nil
}

// Offload tells of features, each by its short name or as `ethtool -k` prints it, whether they are on: by their long names,
// and only of those that the interface has.
func Offload(name string, features []string) (map[string]bool, error) {
	on := map[string]bool{}
	if len(features) == 0 {
		return on, nil
	}
	e, err := ethtool.NewEthtool()
	if err != nil {
		return nil, failed("ethtool", name, err)
	}
	defer e.Close()
	have, err := e.Features(name)
	if err != nil {
		return nil, failed("ethtool -k", name, err)
	}
	for _, feature := range features {
		for _, f := range ofKernel(feature, have) {
			on[f] = have[f]
		}
	}
	return on, nil
}

// SetOffload turns features on or off, each by its short name (tso, gso, gro, …) or as `ethtool -k` prints it, and
// reads them back: `ethtool -K DEV FEATURE on|off`. One that the interface does not have, or does not take, is an
// *OffloadError.
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
	change, asked := map[string]bool{}, map[string]string{} // by long name
	for feature, on := range features {
		long := ofKernel(feature, have)
		if len(long) == 0 {
			return &OffloadError{Interface: name, Feature: feature, Want: on, Why: "it has no such feature"}
		}
		for _, f := range long {
			change[f], asked[f] = on, feature
		}
	}
	if err := e.Change(name, change); err != nil {
		return failed("ethtool -K", name, err)
	}
	now, err := e.Features(name)
	if err != nil {
		return failed("ethtool -k", name, err)
	}
	for _, f := range slices.Sorted(maps.Keys(change)) {
		if now[f] != change[f] {
			return &OffloadError{Interface: name, Feature: asked[f], Want: change[f], Why: f + " can't be changed, or needs another feature"}
		}
	}
	return nil
}

// setOffload is SetOffload as a step.
type setOffload struct {
	name     string
	features map[string]bool
}

func (s setOffload) Command() []string {
	words := []string{"ethtool", "-K", s.name}
	for _, f := range slices.Sorted(maps.Keys(s.features)) {
		words = append(words, f, map[bool]string{true: "on", false: "off"}[s.features[f]])
	}
	return words
}

func (s setOffload) run(context.Context, *Client) error { return SetOffload(s.name, s.features) }

// ofKernel gives the kernel's names of a feature, of those the interface has.
func ofKernel(feature string, have map[string]bool) []string {
	names := featureNames[feature]
	if names == nil {
		names = []string{feature}
	}
	var long []string
	for _, f := range names {
		if _, exists := have[f]; exists {
			long = append(long, f)
		}
	}
	return long
}
