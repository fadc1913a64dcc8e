package bondctl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bondrepro/bondctl"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// watchers are the ways in which a bond watches its slaves; each leaves out options of the others. In balance-tlb and
// balance-alb a slave that has to wait for updelay stays down where its speed is not known, as that of these NICs
// (bond_miimon_commit, drivers/net/bonding/bond_main.c): none of them could be made the active one.
var watchers = map[string]func(option string) bool{
	"MII":         without("arp_interval", "arp_validate", "updelay"),
	"MII, slowly": without("arp_interval", "arp_validate", "active_slave"),
	"ARP":         without("miimon", "updelay", "downdelay", "peer_notify_delay"),
}

func without(options ...string) func(string) bool {
	return func(o string) bool { return !slices.Contains(options, o) }
}

// kernelHas are the options that the kernel shows of a bond and of a slave in a mode.
func kernelHas(t *testing.T, c *bondctl.Client, mode string) func(option string) bool {
	t.Helper()
	bond := bondctl.Bond{Name: "bond0", Options: options("mode", mode), Slaves: []bondctl.Port{{Name: "eth0"}}}
	if _, err := c.Ensure(t.Context(), bond); err != nil {
		t.Fatal(err)
	}
	defer c.Down("bond0")
	have := interfaces(t, c)
	return func(o string) bool {
		_, inBond := have["bond0"].Bond[o]
		_, inSlave := have["eth0"].Slave[o]
		return inBond || inSlave || slices.Contains([]string{"primary", "active_slave", "arp_ip_target", "ns_ip6_target"}, o)
	}
}

func interfaces(t *testing.T, c *bondctl.Client) bondctl.Interfaces {
	t.Helper()
	all, err := c.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// everything asks for every option that the mode takes, with a value that is not the default.
func everything(mode string, wanted func(option string) bool) bondctl.Bond {
	bond := bondctl.Bond{Name: "bond0", Options: options("mode", mode), Slaves: []bondctl.Port{{Name: "eth0"}, {Name: "eth1"}}}
	for _, o := range bondctl.BondTable {
		if o.Name != "mode" && o.Takes(mode) && wanted(o.Name) {
			bond.Options = append(bond.Options, options(o.Name, values[o.Name])...)
		}
	}
	for _, o := range bondctl.SlaveTable {
		if o.Takes(mode) && wanted(o.Name) {
			bond.Slaves[1].Options = append(bond.Slaves[1].Options, options(o.Name, values[o.Name])...)
		}
	}
	slices.Reverse(bond.Options)
	return bond
}

// Every mode with every option it takes reads back equal to what ip shows, and one the kernel lacks is said.
func TestBondEveryModeWithEveryOption(t *testing.T) {
	c, ctx := onlyInGuest(t)
	pairs := 0
	for _, mode := range bondctl.ModeNames {
		has := kernelHas(t, c, mode)
		for _, watcher := range slices.Sorted(maps.Keys(watchers)) {
			if arp := slices.ContainsFunc(bondctl.BondTable, func(o bondctl.TableEntry) bool { return o.Name == "arp_interval" && o.Takes(mode) }); watcher == "ARP" && !arp {
				continue
			}
			bond := everything(mode, func(o string) bool { return watchers[watcher](o) && has(o) })
			if _, err := c.Ensure(ctx, bond); err != nil {
				t.Errorf("%s, %s: %v", mode, watcher, err)
				continue
			}
			shown := ipShow(t, "bond0")
			for _, o := range bond.Options {
				compareShown(t, mode, o, shown["info_data"])
				pairs++
			}
			shown = ipShow(t, "eth1")
			for _, o := range bond.Slaves[1].Options {
				compareShown(t, mode, o, shown["info_slave_data"])
				pairs++
			}
			if err := c.Down("bond0"); err != nil {
				t.Fatal(err)
			}
		}
		for _, o := range slices.Concat(bondctl.BondTable, bondctl.SlaveTable) {
			if !o.Takes(mode) || has(o.Name) {
				continue
			}
			_, err := c.Ensure(ctx, everything(mode, func(name string) bool { return name == o.Name }))
			var lacks *bondctl.UnsupportedError
			if !errors.As(err, &lacks) || !strings.Contains(err.Error(), o.Name) || o.Since == "" {
				t.Errorf("%s, %s, which the kernel lacks: %v", mode, o.Name, err)
			}
			if _, there := interfaces(t, c)["bond0"]; there {
				t.Errorf("%s, %s: the bond is still there", mode, o.Name)
			}
			t.Logf("%s has no %s: %v", mode, o.Name, err)
		}
	}
	t.Logf("%d options read back", pairs)
	if pairs < 7*15 {
		t.Errorf("only %d options of all modes were compared", pairs)
	}
}

// ipShow is what `ip -d -j link show` has in linkinfo.
func ipShow(t *testing.T, name string) map[string]any {
	t.Helper()
	out, err := exec.Command("ip", "-d", "-j", "link", "show", "dev", name).Output()
	var links []struct {
		Linkinfo map[string]any `json:"linkinfo"`
	}
	if err == nil {
		err = json.Unmarshal(out, &links)
	}
	if err != nil || len(links) != 1 {
		t.Fatalf("ip link show %s: %v\n%s", name, err, out)
	}
	return links[0].Linkinfo
}

// jsonNames are the options that ip's JSON calls otherwise.
var jsonNames = map[string]string{"num_grat_arp": "num_peer_notif", "lacp_active": "ad_lacp_active", "lacp_rate": "ad_lacp_rate"}

// compareShown compares with ip's JSON. An option that this ip does not know is not in its JSON: it says so in its help.
func compareShown(t *testing.T, mode string, o bondctl.Option, data any) {
	t.Helper()
	name := o.Name
	if other, ok := jsonNames[name]; ok {
		name = other
	}
	shown, ok := data.(map[string]any)[name]
	if !ok && !knownToIP(o.Name) {
		t.Logf("this ip does not know %s", o.Name)
		return
	}
	var got string
	switch v := shown.(type) {
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = fmt.Sprint(v[i])
		}
		got = strings.Join(parts, ",")
	case float64:
		got = fmt.Sprintf("%.0f", v)
	default:
		got = fmt.Sprint(v)
	}
	if got != o.Value {
		t.Errorf("%s: ip shows %s as %s, want %s; all: %v", mode, o.Name, got, o.Value, data)
	}
}

// knownToIP tells whether this machine's ip has the option.
func knownToIP(option string) bool {
	for _, kind := range []string{"bond", "bond_slave"} {
		help, _ := exec.Command("ip", "link", "help", kind).CombinedOutput()
		if strings.Contains(string(help), " "+option+" ") || strings.Contains(string(help), "|"+option+" ") || strings.Contains(string(help), option+"|") {
			return true
		}
	}
	return false
}

// changes counts link notifications from now on, up to a change that marks the end.
func changes(t *testing.T, f func()) (seen []string) {
	t.Helper()
	updates, done := make(chan netlink.LinkUpdate, 100), make(chan struct{})
	defer close(done)
	if err := netlink.LinkSubscribe(updates, done); err != nil {
		t.Fatal(err)
	}
	f()
	if err := netlink.LinkSetMTU(link(t, "lo"), link(t, "lo").Attrs().MTU-1); err != nil {
		t.Fatal(err)
	}
	timeout := time.After(10 * time.Second)
	for {
		select {
		case u := <-updates:
			if u.Link.Attrs().Name == "lo" {
				return seen
			}
			seen = append(seen, u.Link.Attrs().Name)
		case <-timeout:
			t.Fatal("lo's change was not heard")
		}
	}
}

// What does not apply to the mode is refused, and nothing is sent.
func TestBondOptionsOfOtherModesSendNothing(t *testing.T) {
	c, ctx := onlyInGuest(t)
	refused := 0
	for _, mode := range bondctl.ModeNames {
		for _, o := range bondctl.BondTable {
			if o.Takes(mode) {
				continue
			}
			refused++
			seen := changes(t, func() {
				_, err := c.Ensure(ctx, bondctl.Bond{
					Name: "bond0", Options: options("mode", mode, o.Name, values[o.Name]), Slaves: []bondctl.Port{{Name: "eth0"}, {Name: "eth1"}},
				})
				var field *bondctl.FieldError
				if !errors.As(err, &field) || !strings.Contains(err.Error(), o.Name) || !strings.Contains(err.Error(), mode) {
					t.Errorf("%s, %s: %v", mode, o.Name, err)
				}
			})
			if len(seen) > 0 {
				t.Errorf("%s, %s: changes of %v", mode, o.Name, seen)
			}
		}
	}
	if refused < 30 {
		t.Errorf("only %d were tried", refused)
	}
}

// twoOfThem is a bond with all that is no option, too.
func twoOfThem() bondctl.Bond {
	bond := full()
	bond.Options = append(bond.Options, options("updelay", "200", "peer_notify_delay", "300")...)
	return bond
}

// A second time nothing is sent; one that differs is refused, and nothing is sent either.
func TestBondTwiceIsAsOnce(t *testing.T) {
	c, ctx := onlyInGuest(t)
	first := changes(t, func() {
		if steps, err := c.Ensure(ctx, twoOfThem()); err != nil || len(steps) == 0 {
			t.Fatalf("%d steps, %v", len(steps), err)
		}
	})
	defer c.Down("bond0")
	if len(first) == 0 {
		t.Error("the first time nothing was heard")
	}
	settle(t)
	before := interfaces(t, c)
	seen := changes(t, func() {
		if steps, err := c.Ensure(ctx, twoOfThem()); err != nil || len(steps) > 0 {
			t.Errorf("the second time: %v\n%s", err, lines(steps))
		}
		other := twoOfThem()
		other.Options = append(other.Options, options("resend_igmp", "7")...)
		_, err := c.Ensure(ctx, other)
		var differs *bondctl.DifferenceError
		if !errors.As(err, &differs) || differs.What != "resend_igmp" || differs.Got != "1" {
			t.Errorf("one that differs: %v", err)
		}
	})
	if after := interfaces(t, c); len(seen) > 0 || !reflect.DeepEqual(before["bond0"], after["bond0"]) || !reflect.DeepEqual(before["eth1"], after["eth1"]) {
		t.Errorf("changes of %v", seen)
	}
}

// settle waits until no link has changed for a while: carriers and addresses come later than the bond.
func settle(t *testing.T) {
	t.Helper()
	for range 100 {
		if len(changes(t, func() { time.Sleep(300 * time.Millisecond) })) == 0 {
			return
		}
	}
	t.Fatal("links keep changing")
}

// The command lines of a plan make the same bond as the plan.
func TestBondFromCommandLines(t *testing.T) {
	c, ctx := onlyInGuest(t)
	bonds := []bondctl.Bond{twoOfThem()}
	for _, mode := range bondctl.ModeNames {
		has := kernelHas(t, c, mode)
		bonds = append(bonds, everything(mode, func(o string) bool { return watchers["MII"](o) && has(o) && knownToIP(o) }))
	}
	bonds = append(bonds, everything("active-backup", func(o string) bool { return watchers["ARP"](o) && knownToIP(o) }))
	for _, bond := range bonds {
		if _, err := c.Ensure(ctx, bond); err != nil {
			t.Errorf("%+v: %v", bond, err)
			continue
		}
		want := builtState(t, c)
		if err := c.Down("bond0"); err != nil {
			t.Fatal(err)
		}
		restore(t)
		steps, err := bondctl.Plan(bond, interfaces(t, c))
		if err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(lines(steps)) {
			words := strings.Fields(line)
			if words[0] == "#" {
				time.Sleep(time.Second)
				continue
			}
			if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
		if got := builtState(t, c); !reflect.DeepEqual(got, want) {
			t.Errorf("from command lines:\n%+v\nwant\n%+v", got, want)
		}
		if err := c.Down("bond0"); err != nil {
			t.Fatal(err)
		}
		restore(t)
	}
}

// restore gives the NICs what they had when the guest booted.
func restore(t *testing.T) {
	t.Helper()
	for _, name := range []string{"eth0", "eth1"} {
		if err := netlink.LinkSetTxQLen(link(t, name), 1000); err != nil {
			t.Fatal(err)
		}
		root := &netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link(t, name).Attrs().Index, Parent: netlink.HANDLE_ROOT}}
		if err := netlink.QdiscDel(root); err != nil && !errors.Is(err, unix.ENOENT) { // that is a default one
			t.Fatal(err)
		}
	}
}

// builtState is what was built without what is the kernel's own: indices, link-local addresses, and which slave is
// active where none was asked for.
func builtState(t *testing.T, c *bondctl.Client) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, i := range interfaces(t, c) {
		if name == "lo" {
			continue
		}
		i.Addresses = slices.DeleteFunc(i.Addresses, func(a netip.Prefix) bool { return a.Addr().IsLinkLocalUnicast() })
		all[name] = fmt.Sprint(i.Kind, i.Master, i.Up, i.MTU, i.TxQueueLen, i.Queues, i.Qdisc, i.Addresses, i.Bond, i.Slave)
	}
	return all
}

// Down frees the slaves and sets them down; a bond that is gone is no error, and what is no bond stays.
func TestBondDown(t *testing.T) {
	c, ctx := onlyInGuest(t)
	if _, err := c.Ensure(ctx, bondctl.Bond{Name: "bond0", Options: options("mode", "balance-rr"), Slaves: []bondctl.Port{{Name: "eth0"}, {Name: "eth1"}}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Down("bond0"); err != nil {
			t.Error(err)
		}
		have := interfaces(t, c)
		for _, name := range []string{"eth0", "eth1"} {
			if i := have[name]; i.Master != "" || i.Up {
				t.Errorf("%s: %+v", name, i)
			}
		}
		if _, there := have["bond0"]; there {
			t.Error("the bond is still there")
		}
	}
	if err := c.Down("eth0"); err == nil {
		t.Error("Down took what is no bond")
	}
}

// Where a step fails half way, nothing is left.
func TestBondThatTheKernelRefusesIsNotLeft(t *testing.T) {
	c, ctx := onlyInGuest(t)
	bond := twoOfThem()
	bond.Slaves[1].Options = options("queue_id", "17") // a bond has 16 TX queues
	_, err := c.Ensure(ctx, bond)
	var refused *bondctl.Error
	if !errors.As(err, &refused) || refused.Object != "eth1" {
		t.Errorf("err = %v, want one about eth1", err)
	}
	have := interfaces(t, c)
	if _, there := have["bond0"]; there || have["eth0"].Master != "" {
		t.Errorf("something is left: %+v", have)
	}
	restore(t)
}
