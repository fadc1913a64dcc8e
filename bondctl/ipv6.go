package bondctl

import (
	"fmt"
	"os"
)

// ipv6Sysctls turn IPv6 on for one interface and keep it as quiet as can be: no link-local address, which is looked
// for on the link, and no word to or from routers (Documentation/networking/ip-sysctl.rst).
var ipv6Sysctls = []struct{ name, value string }{
	{"addr_gen_mode", "1"}, {"accept_ra", "0"}, {"router_solicitations", "0"}, {"dad_transmits", "0"}, {"disable_ipv6", "0"},
}

// enableIPv6 turns IPv6 on for an interface of the calling thread's namespace.
func enableIPv6(name string) error {
	for _, s := range ipv6Sysctls {
		path := fmt.Sprintf("/proc/sys/net/ipv6/conf/%s/%s", name, s.name)
		err := os.WriteFile(path, []byte(s.value), 0)
		if os.IsNotExist(err) {
			return &UnsupportedError{What: "IPv6", Err: err}
		}
		if err != nil {
			return fmt.Errorf("sysctl net.ipv6.conf.%s.%s=%s: %w", name, s.name, s.value, err)
		}
	}
	return nil
}
