package bondctl

import (
	"fmt"
	"strconv"

	"github.com/vishvananda/netlink"
)

// Option is one bonding option, named and written as `ip link add type bond` takes it: times in
// milliseconds, switches as 0 or 1.
type Option struct {
	Name  string
	Value string
}

// bondOption knows one option in the library's Bond. A field of -1 is not sent (netlink.NewLinkBond).
type bondOption struct {
	set func(*netlink.Bond, string) error
	get func(*netlink.Bond) string
}

func number(field func(*netlink.Bond) *int) bondOption {
	return bondOption{
		set: func(b *netlink.Bond, v string) (err error) {
			*field(b), err = strconv.Atoi(v)
			return err
		},
		get: func(b *netlink.Bond) string { return strconv.Itoa(*field(b)) },
	}
}

type named interface {
	~int
	fmt.Stringer
}

func word[T named](field func(*netlink.Bond) *T, values map[string]T) bondOption {
	return bondOption{
		set: func(b *netlink.Bond, v string) error {
			x, ok := values[v]
			if !ok {
				return fmt.Errorf("unknown value %q", v)
			}
			*field(b) = x
			return nil
		},
		get: func(b *netlink.Bond) string { return (*field(b)).String() },
	}
}

var bondOptions = map[string]bondOption{
	"mode":              word(func(b *netlink.Bond) *netlink.BondMode { return &b.Mode }, netlink.StringToBondModeMap),
	"miimon":            number(func(b *netlink.Bond) *int { return &b.Miimon }),
	"updelay":           number(func(b *netlink.Bond) *int { return &b.UpDelay }),
	"downdelay":         number(func(b *netlink.Bond) *int { return &b.DownDelay }),
	"xmit_hash_policy":  word(func(b *netlink.Bond) *netlink.BondXmitHashPolicy { return &b.XmitHashPolicy }, netlink.StringToBondXmitHashPolicyMap),
	"resend_igmp":       number(func(b *netlink.Bond) *int { return &b.ResendIgmp }),
	"num_grat_arp":      number(func(b *netlink.Bond) *int { return &b.NumPeerNotif }),
	"all_slaves_active": number(func(b *netlink.Bond) *int { return &b.AllSlavesActive }),
	"packets_per_slave": number(func(b *netlink.Bond) *int { return &b.PacketsPerSlave }),
	"tlb_dynamic_lb":    number(func(b *netlink.Bond) *int { return &b.TlbDynamicLb }),
	"fail_over_mac":     word(func(b *netlink.Bond) *netlink.BondFailOverMac { return &b.FailOverMac }, netlink.StringToBondFailOverMacMap),
	"lacp_rate":         word(func(b *netlink.Bond) *netlink.BondLacpRate { return &b.LacpRate }, netlink.StringToBondLacpRateMap),
	"min_links":         number(func(b *netlink.Bond) *int { return &b.MinLinks }),
}

// applyOptions writes options into b; the first it does not know is an error.
func applyOptions(b *netlink.Bond, options []Option) error {
	for _, o := range options {
		known, ok := bondOptions[o.Name]
		if !ok {
			return fmt.Errorf("bond %s: no such option: %s", b.Name, o.Name)
		}
		if err := known.set(b, o.Value); err != nil {
			return fmt.Errorf("bond %s: %s %s: %w", b.Name, o.Name, o.Value, err)
		}
	}
	return nil
}

// compareOptions reads every known option of the bond the kernel made and fails at the first that is not
// what was asked for.
func compareOptions(b *netlink.Bond, asked []Option) (map[string]string, error) {
	got := make(map[string]string, len(bondOptions))
	for name, o := range bondOptions {
		got[name] = o.get(b)
	}
	for _, o := range asked {
		if got[o.Name] != o.Value {
			return nil, &MismatchError{Object: b.Name, Option: o.Name, Want: o.Value, Got: got[o.Name]}
		}
	}
	return got, nil
}
