package bondctl

import (
	"slices"
	"strings"
)

// modeNames are the bonding modes as iproute2 and the kernel write them, by their number (bond_mode_tbl,
// drivers/net/bonding/bond_options.c).
var modeNames = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}

// modeSet is a set of modes, one bit each.
type modeSet uint8

const (
	modeRR modeSet = 1 << iota
	modeActiveBackup
	modeXOR
	modeBroadcast
	mode8023AD
	modeTLB
	modeALB

	allModes = modeALB<<1 - 1
	// primaryModes have one active slave (bond_uses_primary, include/net/bonding.h).
	primaryModes = modeActiveBackup | modeTLB | modeALB
	// arpModes can watch their slaves by ARP (bond_mode_uses_arp); the others need miimon.
	arpModes = allModes &^ (mode8023AD | modeTLB | modeALB)
)

// modeOf is the set of one mode; false when there is no such mode.
func modeOf(name string) (modeSet, bool) {
	i := slices.Index(modeNames, name)
	return 1 << max(i, 0), i >= 0
}

// String lists the modes: "active-backup, balance-tlb".
func (s modeSet) String() string {
	var names []string
	for i, name := range modeNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
