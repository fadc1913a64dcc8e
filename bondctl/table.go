package bondctl

import (
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink/nl"
)

// Attributes that the library does not know (include/uapi/linux/if_link.h).
const (
	attrPeerNotifDelay = nl.IFLA_BOND_TLB_DYNAMIC_LB + 1 + iota
	attrLACPActive
	attrMissedMax
	attrNSTarget
	attrCoupledControl
	attrBroadcastNeighbor
	attrLACPStrict
)

const (
	attrSlavePrio = nl.IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE + 1 + iota
	attrSlavePortPrio
)

// moment is when the kernel lets an option be set (the flags of bond_opts, drivers/net/bonding/bond_options.c). A bond
// that is being created is down and has no slaves.
type moment string

const (
	anyTime      moment = "any time"
	whileDown    moment = "while the bond is down"        // BOND_OPTFLAG_IFDOWN
	beforeSlaves moment = "before the bond has slaves"    // BOND_OPTFLAG_NOSLAVES
	bareAndDown  moment = "while down and without slaves" // both
	withSlave    moment = "when the bond has that slave"
)

// option is one bonding option of the kernel.
type option struct {
	name  string   // as iproute2 writes it
	alias []string // as /sys/class/net/BOND/bonding or an older iproute2 writes it
	attr  uint16   // in IFLA_INFO_DATA of the bond, or IFLA_INFO_SLAVE_DATA of a slave
	form  form
	modes modeSet // that take it: all but unsuppmodes of bond_opts
	when  moment
	since string // Linux version; "" for what every kernel has that this package runs on (4.8)
}

// bondTable are the options of a bond. Each is set by its attribute in the message that creates the bond or, with a
// slave's name as its value, by one after the slaves; each is read back from the same attribute.
var bondTable = []option{
	{name: "mode", attr: nl.IFLA_BOND_MODE, form: words(1, modeNames...), modes: allModes, when: bareAndDown},
	{name: "miimon", attr: nl.IFLA_BOND_MIIMON, form: whole(4, 0, math.MaxInt32), modes: allModes, when: anyTime},
	{name: "updelay", attr: nl.IFLA_BOND_UPDELAY, form: whole(4, 0, math.MaxInt32), modes: allModes, when: anyTime},
	{name: "downdelay", attr: nl.IFLA_BOND_DOWNDELAY, form: whole(4, 0, math.MaxInt32), modes: allModes, when: anyTime},
	{name: "peer_notify_delay", alias: []string{"peer_notif_delay"}, attr: attrPeerNotifDelay, form: whole(4, 0, 300000), modes: allModes, when: anyTime, since: "5.3"},
	{name: "use_carrier", attr: nl.IFLA_BOND_USE_CARRIER, form: whole(1, 0, 1), modes: allModes, when: anyTime},
	{name: "arp_interval", attr: nl.IFLA_BOND_ARP_INTERVAL, form: whole(4, 0, math.MaxInt32), modes: arpModes, when: anyTime},
	{name: "arp_validate", attr: nl.IFLA_BOND_ARP_VALIDATE, form: words(4, "none", "active", "backup", "all", "filter", "filter_active", "filter_backup"), modes: arpModes, when: anyTime},
	{name: "arp_all_targets", attr: nl.IFLA_BOND_ARP_ALL_TARGETS, form: words(4, "any", "all"), modes: allModes, when: anyTime},
	{name: "arp_ip_target", attr: nl.IFLA_BOND_ARP_IP_TARGET, form: targets("IPv4", netip.Addr.Is4), modes: allModes, when: anyTime},
	{name: "ns_ip6_target", attr: attrNSTarget, form: targets("IPv6", netip.Addr.Is6), modes: allModes, when: anyTime, since: "5.18"},
	{name: "arp_missed_max", alias: []string{"missed_max"}, attr: attrMissedMax, form: whole(1, 1, 255), modes: arpModes, when: anyTime, since: "5.17"},
	{name: "primary", attr: nl.IFLA_BOND_PRIMARY, form: slaveName(), modes: primaryModes, when: withSlave},
	// After the primary, as setting that chooses the active slave anew.
	{name: "active_slave", attr: nl.IFLA_BOND_ACTIVE_SLAVE, form: slaveName(), modes: primaryModes, when: withSlave},
	{name: "primary_reselect", attr: nl.IFLA_BOND_PRIMARY_RESELECT, form: words(1, "always", "better", "failure"), modes: allModes, when: anyTime},
	{name: "fail_over_mac", attr: nl.IFLA_BOND_FAIL_OVER_MAC, form: words(1, "none", "active", "follow"), modes: allModes, when: beforeSlaves},
	{name: "xmit_hash_policy", attr: nl.IFLA_BOND_XMIT_HASH_POLICY, form: words(1, "layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"), modes: allModes, when: anyTime},
	{name: "resend_igmp", attr: nl.IFLA_BOND_RESEND_IGMP, form: whole(4, 0, 255), modes: allModes, when: anyTime},
	{name: "num_grat_arp", alias: []string{"num_unsol_na"}, attr: nl.IFLA_BOND_NUM_PEER_NOTIF, form: whole(1, 0, 255), modes: allModes, when: anyTime},
	{name: "all_slaves_active", attr: nl.IFLA_BOND_ALL_SLAVES_ACTIVE, form: whole(1, 0, 1), modes: allModes, when: anyTime},
	{name: "min_links", attr: nl.IFLA_BOND_MIN_LINKS, form: whole(4, 0, math.MaxInt32), modes: allModes, when: anyTime},
	{name: "lp_interval", attr: nl.IFLA_BOND_LP_INTERVAL, form: whole(4, 1, math.MaxInt32), modes: allModes, when: anyTime},
	{name: "packets_per_slave", attr: nl.IFLA_BOND_PACKETS_PER_SLAVE, form: whole(4, 0, math.MaxUint16), modes: modeRR, when: anyTime},
	{name: "tlb_dynamic_lb", attr: nl.IFLA_BOND_TLB_DYNAMIC_LB, form: whole(1, 0, 1), modes: modeTLB | modeALB, when: whileDown},
	{name: "lacp_active", attr: attrLACPActive, form: words(1, "off", "on"), modes: mode8023AD, when: whileDown, since: "5.15"},
	{name: "lacp_rate", attr: nl.IFLA_BOND_AD_LACP_RATE, form: words(1, "slow", "fast"), modes: mode8023AD, when: whileDown},
	{name: "ad_select", attr: nl.IFLA_BOND_AD_SELECT, form: words(1, "stable", "bandwidth", "count"), modes: allModes, when: whileDown},
	{name: "ad_actor_sys_prio", attr: nl.IFLA_BOND_AD_ACTOR_SYS_PRIO, form: whole(2, 1, math.MaxUint16), modes: mode8023AD, when: anyTime},
	{name: "ad_user_port_key", attr: nl.IFLA_BOND_AD_USER_PORT_KEY, form: whole(2, 0, 1023), modes: mode8023AD, when: whileDown},
	{name: "ad_actor_system", attr: nl.IFLA_BOND_AD_ACTOR_SYSTEM, form: hardwareAddress(), modes: mode8023AD, when: anyTime},
	{name: "coupled_control", attr: attrCoupledControl, form: words(1, "off", "on"), modes: mode8023AD, when: whileDown, since: "6.9"},
	{name: "broadcast_neighbor", attr: attrBroadcastNeighbor, form: words(1, "off", "on"), modes: mode8023AD, when: anyTime, since: "6.17"},
	{name: "lacp_strict", attr: attrLACPStrict, form: words(1, "off", "on"), modes: mode8023AD, when: anyTime, since: "6.18.40"},
}

// slaveTable are the options of a slave, set and read as those of a bond.
var slaveTable = []option{
	{name: "queue_id", attr: nl.IFLA_BOND_SLAVE_QUEUE_ID, form: whole(2, 0, math.MaxUint16), modes: allModes, when: withSlave},
	{name: "prio", attr: attrSlavePrio, form: signed(), modes: primaryModes, when: withSlave, since: "6.0"},
	{name: "actor_port_prio", attr: attrSlavePortPrio, form: whole(2, 0, math.MaxUint16), modes: mode8023AD, when: withSlave, since: "6.18"},
}

// find is the option of that name or alias, nil where there is none.
func find(table []option, name string) *option {
	for i := range table {
		if table[i].name == name {
			return &table[i]
		}
		for _, a := range table[i].alias {
			if a == name {
				return &table[i]
			}
		}
	}
	return nil
}

// namesOf lists the options, for an error.
func namesOf(table []option) string {
	names := make([]string, len(table))
	for i, o := range table {
		names[i] = o.name
	}
	return strings.Join(names, ", ")
}

// readOptions are the options that the attributes hold, by name.
func readOptions(table []option, payload []byte, d devices) (map[string]string, error) {
	attrs, err := attributes(payload)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(table))
	for _, o := range table {
		if b, ok := attrs[o.attr]; ok {
			values[o.name] = o.form.read(b, d)
		}
	}
	return values, nil
}

// OptionsHelp describes every option for a reader: its values, the modes that take it, when the kernel lets it be set,
// and since when it has it.
func OptionsHelp() string {
	var b strings.Builder
	for _, part := range []struct {
		title string
		table []option
	}{{"Options of a bond:", bondTable}, {"Options of a slave:", slaveTable}} {
		fmt.Fprintln(&b, part.title)
		for _, o := range part.table {
			fmt.Fprintf(&b, "  %s", o.name)
			for _, a := range o.alias {
				fmt.Fprintf(&b, " (or %s)", a)
			}
			fmt.Fprintf(&b, ": %s\n      set %s", o.form.values, o.when)
			if o.modes != allModes {
				fmt.Fprintf(&b, "; only in %s", o.modes)
			}
			if o.since != "" {
				fmt.Fprintf(&b, "; since Linux %s", o.since)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
