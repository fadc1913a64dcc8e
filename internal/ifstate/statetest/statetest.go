// Package statetest records what a machine's network is, with the tools that an administrator would use, so that a test
// can tell whether it was put back: ip, tc and ethtool, and the files of bonds and of network settings.
package statetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/osrun"

	diff "github.com/google/go-cmp/cmp"
)

// Tools are the programs that Record starts.
var Tools = []string{"ip", "tc", "ethtool"}

// toolLimit is how long one tool may take in a slow guest.
const toolLimit = 30 * time.Second

// passing are what tools tell of the moment, at any depth of their JSON: counters, ages, numbers that the kernel
// gives anew to what is made anew.
var passing = []string{
	"ifindex", "link_index", "stats", "stats64", "link_failure_count", "ad_info", "ad_aggregator_id", "ad_actor_oper_port_state",
	"ad_actor_oper_port_state_str", "ad_partner_oper_port_state", "ad_partner_oper_port_state_str", "expires", "used", "confirmed",
	"updated", "probes", "direct_packets_stat", "cstamp", "tstamp", "hello_timer", "tcn_timer", "topology_change_timer", "gc_timer",
}

// Record records everything in the calling thread's network namespace, one text for each thing. Counters, rests of
// lifetimes, and indices are left out.
func Record(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	names := interfaces(t)
	perInterface(t, all, "link", "ip", "-d", "-j", "link", "show")
	perInterface(t, all, "addr", "ip", "-d", "-j", "addr", "show")
	perInterface(t, all, "maddr", "ip", "-j", "maddr", "show")
	for key, args := range map[string][]string{
		"route -4": {"-d", "-j", "-4", "route", "show", "table", "all"},
		"route -6": {"-d", "-j", "-6", "route", "show", "table", "all"},
		"neigh":    {"-j", "neigh", "show", "nud", "permanent"},
		"proxy":    {"-j", "neigh", "show", "proxy"},
	} {
		all[key] = sorted(t, run(t, "ip", args...))
	}
	for _, name := range names {
		for _, object := range []string{"qdisc", "filter"} {
			all["tc "+object+" "+name] = sorted(t, run(t, "tc", "-j", object, "show", "dev", name))
		}
		all["tc class "+name] = classes(run(t, "tc", "class", "show", "dev", name))
		all["ethtool -k "+name] = string(run(t, "ethtool", "-k", name))
		for _, dir := range []string{"bonding", "bonding_slave"} {
			files(t, all, filepath.Join("/sys/class/net", name, dir), bondFile)
		}
		for _, dir := range []string{"ipv4/conf", "ipv6/conf", "ipv4/neigh", "ipv6/neigh"} {
			files(t, all, filepath.Join("/proc/sys/net", dir, name), nil)
		}
		// Until it is brought up, a port that left a bond has the bond's MTU in IPv6, where that is larger than its own.
		if conf, own := "/proc/sys/net/ipv6/conf/"+name, number("/sys/class/net/"+name+"/mtu"); number(conf+"/mtu") > own {
			all[conf] = strings.Replace(all[conf], fmt.Sprintf("\nmtu: %d\n", number(conf+"/mtu")), fmt.Sprintf("\nmtu: %d\n", own), 1)
		}
	}
	return all
}

// Equal fails the test where two records differ, with the differences.
func Equal(t testing.TB, before, after map[string]string) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if is, ok := after[key]; !ok {
			t.Errorf("%s is gone; it was\n%s", key, before[key])
		} else if is != before[key] {
			t.Errorf("%s is not as it was (-before +after):\n%s", key, diff.Diff(strings.Split(before[key], "\n"), strings.Split(is, "\n")))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[key]; !ok {
			t.Errorf("%s was not there; it is\n%s", key, after[key])
		}
	}
}

func interfaces(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, i := range decode(t, run(t, "ip", "-j", "link", "show")) {
		names = append(names, i.(map[string]any)["ifname"].(string))
	}
	slices.Sort(names)
	return names
}

func run(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	// Also in a test's Cleanup, when its context has ended.
	out, err := osrun.Run(context.WithoutCancel(t.Context()), osrun.Cmd{Path: name, Args: args, Timeout: toolLimit})
	if err != nil {
		t.Fatal(err)
	}
	return out.Stdout
}

// decode reads a tool's list; a tool that has nothing to list may write nothing.
func decode(t testing.TB, b []byte) []any {
	t.Helper()
	var all []any
	if strings.TrimSpace(string(b)) == "" {
		return nil
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatalf("a tool's JSON: %v\n%s", err, b)
	}
	return all
}

// perInterface records a list of interfaces, each by its name.
func perInterface(t testing.TB, all map[string]string, key, tool string, args ...string) {
	t.Helper()
	for _, i := range decode(t, run(t, tool, args...)) {
		object, _ := i.(map[string]any)
		name, _ := object["ifname"].(string)
		if name == "" { // ip(8) writes an empty object for what it filtered out
			continue
		}
		if list, ok := object["maddr"].([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return cmp.Compare(indented(t, a), indented(t, b)) })
		}
		all[key+" "+name] = indented(t, clean(object))
	}
}

// sorted records a list whose order means nothing.
func sorted(t testing.TB, b []byte) string {
	t.Helper()
	var lines []string
	for _, object := range decode(t, b) {
		lines = append(lines, indented(t, clean(object)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// classes are the classes that somebody made, as text: tc(8) knows no JSON for some of them. fq_codel's are its flows.
func classes(b []byte) string {
	var lines []string
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "class fq_codel ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func indented(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// clean leaves out what is of the moment.
func clean(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = clean(v[i])
		}
	case map[string]any:
		for _, key := range passing {
			delete(v, key)
		}
		if v["dynamic"] == true {
			delete(v, "valid_life_time")
			delete(v, "preferred_life_time")
		}
		for key := range v {
			v[key] = clean(v[key])
		}
	}
	return v
}

// number is the one in a file, 0 where there is none.
func number(path string) int {
	b, _ := os.ReadFile(path)
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}

// bondFile tells whether a file of a bond or slave says more than the moment.
func bondFile(name string) bool {
	return !slices.Contains([]string{
		"link_failure_count", "ad_aggregator_id", "ad_aggregator", "ad_num_ports", "ad_actor_key", "ad_partner_key", "ad_partner_mac",
		"ad_actor_oper_port_state", "ad_partner_oper_port_state",
	}, name)
}

// files records the files of a folder that may not be there; one that can't be read is recorded as its error.
func files(t testing.TB, all map[string]string, dir string, keep func(name string) bool) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var lines []string
	for _, e := range entries {
		if keep != nil && !keep(e.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		value := strings.TrimSpace(string(b))
		if err != nil {
			value = err.Error()
		}
		lines = append(lines, e.Name()+": "+value)
	}
	all[dir] = strings.Join(lines, "\n")
}
