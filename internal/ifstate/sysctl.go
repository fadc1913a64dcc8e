package ifstate

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

const sysctlDir = "/proc/sys/net/"

// sysctlDirs hold an interface's own settings; %s is its name.
var sysctlDirs = []string{"ipv4/conf/%s/", "ipv6/conf/%s/", "ipv4/neigh/%s/", "ipv6/neigh/%s/"}

// sysctls are all settings of an interface that can be read and written, by path with %s for its name.
func sysctls(name string) (map[string]string, error) {
	all := map[string]string{}
	for _, dir := range sysctlDirs {
		entries, err := os.ReadDir(sysctlDir + fmt.Sprintf(dir, name))
		if errors.Is(err, os.ErrNotExist) { // no IPv6, an MTU too small for it, or the interface went
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || info.Mode().Perm()&0o600 != 0o600 {
				continue
			}
			// One that can't be read now is not set: stable_secret says EIO then.
			if value, err := readSysctl(dir+e.Name(), name); err == nil {
				all[dir+e.Name()] = value
			}
		}
	}
	return all, nil
}

// sysctlMTU is the MTU of IPv6 on the interface.
const sysctlMTU = "ipv6/conf/%s/mtu"

// withoutStale leaves out an MTU of IPv6 above the interface's own. It is what a port has that left a bond of a larger MTU, until it
// is brought up (addrconf_notify, net/ipv6/addrconf.c); nobody can set it.
func withoutStale(all map[string]string, mtu int) map[string]string {
	if v6, err := strconv.Atoi(all[sysctlMTU]); err == nil && v6 > mtu {
		delete(all, sysctlMTU)
	}
	return all
}

func readSysctl(path, name string) (string, error) {
	b, err := os.ReadFile(sysctlDir + fmt.Sprintf(path, name))
	return strings.TrimSpace(string(b)), err
}

func writeSysctl(path, name, value string) error {
	return os.WriteFile(sysctlDir+fmt.Sprintf(path, name), []byte(value), 0)
}

// sysctlName is a path as sysctl(8) writes it.
func sysctlName(path, name string) string {
	path = "net/" + path
	if strings.Contains(name, ".") { // then only slashes are clear
		return fmt.Sprintf(path, name)
	}
	return strings.ReplaceAll(fmt.Sprintf(path, name), "/", ".")
}

// firstSysctls are written before the others, in this order: a secret sets addr_gen_mode too (addrconf_sysctl_stable_secret,
// net/ipv6/addrconf.c), and addresses come with disable_ipv6.
var firstSysctls = []string{"ipv6/conf/%s/stable_secret", "ipv6/conf/%s/addr_gen_mode", "ipv6/conf/%s/disable_ipv6"}

// inOrder are the paths in the order to write them. One that is the same setting in a finer unit comes after
// it, as names with "_ms" sort later.
func inOrder(all map[string]string) []string {
	paths := append([]string(nil), firstSysctls...)
	var rest []string
	for path := range all {
		if !slices.Contains(firstSysctls, path) {
			rest = append(rest, path)
		}
	}
	slices.Sort(rest)
	return append(paths, rest...)
}
