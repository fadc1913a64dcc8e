package kbuild

import (
	_ "embed"
	"strings"
)

//go:embed fragment.config
var fragment string

// Fragment is the smallest config, in the form of .config, that on top of allnoconfig boots in our machine and
// measures every scenario. All it names is built in.
func Fragment() string { return fragment }

// usefulMark starts the comment of a group of options that a kernel may lack.
const usefulMark = "# Useful:"

// option is one line of a config: "CONFIG_NAME=value", or "# CONFIG_NAME is not set", whose value is "n".
type option struct {
	name, value string
	useful      bool // a kernel may lack it
}

// parseConfig reads the options of a config; what else it holds is comment.
func parseConfig(text string) []option {
	var options []option
	useful := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			useful = false
			continue
		case strings.HasPrefix(line, usefulMark):
			useful = true
		}
		if name, value, ok := parseOption(line); ok {
			options = append(options, option{name, value, useful})
		}
	}
	return options
}

func parseOption(line string) (name, value string, ok bool) {
	if rest, comment := strings.CutPrefix(line, "# "); comment {
		name, ok = strings.CutSuffix(rest, " is not set")
		return name, "n", ok && strings.HasPrefix(name, "CONFIG_")
	}
	name, value, ok = strings.Cut(line, "=")
	return name, value, ok && strings.HasPrefix(name, "CONFIG_")
}

// merge is base with the options of the fragment in place of its own of these names, as scripts/kconfig/merge_config.sh -m
// does it.
func merge(base string) string {
	ours := map[string]bool{}
	for _, o := range parseConfig(fragment) {
		ours[o.name] = true
	}
	var b strings.Builder
	for line := range strings.Lines(base) {
		if name, _, ok := parseOption(strings.TrimSpace(line)); !ok || !ours[name] {
			b.WriteString(line)
		}
	}
	return b.String() + "\n" + fragment
}

// loadable are the options whose modules are loaded in our machines where they are not built in (internal/testbed): kconfig
// may make modules of them in a larger config, as of BONDING with TLS=m (depends on TLS || !TLS_DEVICE).
var loadable = map[string]bool{
	"CONFIG_VIRTIO_PCI": true, "CONFIG_VIRTIO_NET": true, "CONFIG_BONDING": true, "CONFIG_VLAN_8021Q": true, "CONFIG_IPV6": true,
	"CONFIG_NET_SCH_INGRESS": true, "CONFIG_NET_CLS_MATCHALL": true, "CONFIG_NET_ACT_GACT": true,
	"CONFIG_NET_SCH_NETEM": true, "CONFIG_NET_SCH_FQ": true, "CONFIG_NET_SCH_FQ_CODEL": true,
}

// lost are the options of the fragment that a config does not have as the fragment has them.
func lost(config string) (needed, useful []string) {
	has := map[string]string{}
	for _, o := range parseConfig(config) {
		has[o.name] = o.value
	}
	for _, o := range parseConfig(fragment) {
		value, known := has[o.name]
		if !known {
			value = "n"
		}
		switch {
		case value == o.value, value == "m" && loadable[o.name]:
		case o.useful:
			useful = append(useful, o.name)
		default:
			needed = append(needed, o.name)
		}
	}
	return needed, useful
}
