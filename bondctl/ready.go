package bondctl

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	readyLimit = 5 * time.Second
	// lacpLimit leaves room for LACP's slow first steps: the aggregator waits 2 s for more ports, and a partner that
	// was asked slowly is asked again only after 30 s (drivers/net/bonding/bond_3ad.c).
	lacpLimit = 40 * time.Second
)

// waitReady waits until the bond and every slave are up with carrier and the MII monitor says "up".
func (c *Client) waitReady(ctx context.Context, spec Spec) error {
	limit := cmp.Or(spec.Ready, readyLimit)
	if spec.Partnered {
		limit = max(limit, lacpLimit)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		missing, err := c.notReady(spec)
		if err != nil {
			return err
		}
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %v: %s", spec.Name, limit, missing)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// HasCarrier tells from an interface's flags (ifi_flags, rtnetlink(7)) whether it is up and its link is.
func HasCarrier(flags uint32) bool {
	const both = unix.IFF_UP | unix.IFF_LOWER_UP
	return flags&both == both
}

func (c *Client) notReady(spec Spec) (string, error) {
	for _, name := range append([]string{spec.Name}, spec.Slaves...) {
		link, err := c.nl.LinkByName(name)
		if err != nil {
			return "", failed("ip link show", name, err)
		}
		a := link.Attrs()
		if !HasCarrier(a.RawFlags) {
			return name + " has no carrier", nil
		}
		// Until linkwatch has seen the carrier the device has a noop qdisc, which loses packets and says nothing.
		if a.OperState != netlink.OperUp {
			return name + " is operationally " + a.OperState.String(), nil
		}
		slave, ok := a.Slave.(*netlink.BondSlave)
		if name != spec.Name && !ok {
			return name + " is no slave", nil
		}
		if ok && slave.MiiStatus != netlink.BondLinkUp {
			return name + " is MII " + slave.MiiStatus.String(), nil
		}
		// LACP_STATE_DISTRIBUTING (include/net/bond_3ad.h).
		const distributing = 0x20
		if ok && spec.Partnered && uint16(slave.AdActorOperPortState)&slave.AdPartnerOperPortState&distributing == 0 {
			return fmt.Sprintf("LACP has not put %s to use (port state %#x, the partner's %#x)", name, slave.AdActorOperPortState, slave.AdPartnerOperPortState), nil
		}
	}
	return "", nil
}
