package vm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
)

// bondsReply is what two bonds found out of each other.
type bondsReply struct {
	MACs     [2]string
	Partners [2]string // the MAC address of the partner's system
	Ports    [2]string // in the active aggregator
}

// bonds makes two bonds in 802.3ad, of eth0 and eth1 and of eth2 and eth3, and waits until each has a partner and both
// ports, or the context ends.
func bonds(ctx context.Context, _ json.RawMessage, _ func(string, any)) (any, error) {
	var r bondsReply
	for i := range 2 {
		bond := netlink.NewLinkBond(netlink.LinkAttrs{Name: fmt.Sprintf("bond%d", i), TxQLen: -1})
		bond.Mode, bond.Miimon, bond.LacpRate = netlink.BOND_MODE_802_3AD, 100, netlink.BOND_LACP_RATE_FAST
		if err := netlink.LinkAdd(bond); err != nil {
			return nil, err
		}
		for j := range 2 {
			slave, err := netlink.LinkByName(fmt.Sprintf("eth%d", 2*i+j))
			if err != nil {
				return nil, err
			}
			if err := errors.Join(netlink.LinkSetDown(slave), netlink.LinkSetMaster(slave, bond), netlink.LinkSetUp(slave)); err != nil {
				return nil, err
			}
		}
		if err := netlink.LinkSetUp(bond); err != nil {
			return nil, err
		}
	}
	read := func(i int, name string) string {
		b, _ := os.ReadFile(fmt.Sprintf("/sys/class/net/bond%d/%s", i, name))
		return strings.TrimSpace(string(b))
	}
	for {
		for i := range 2 {
			r.MACs[i], r.Partners[i], r.Ports[i] = read(i, "address"), read(i, "bonding/ad_partner_mac"), read(i, "bonding/ad_num_ports")
		}
		if r.Ports == [2]string{"2", "2"} && r.Partners == [2]string{r.MACs[1], r.MACs[0]} {
			return r, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no agreement: %+v", r)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
