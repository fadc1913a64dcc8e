package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// setSysctl sets a sysctl of the calling thread's namespace, by its path below /proc/sys. One that has the value
// already is not written: /proc/sys is read-only in many containers. Where there is none, the error is fs.ErrNotExist.
func setSysctl(path, value string) error {
	file := "/proc/sys/" + path
	now, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("sysctl %s: %w", path, err)
	}
	if strings.TrimSpace(string(now)) == value {
		return nil
	}
	if err := os.WriteFile(file, []byte(value), 0); err != nil {
		return fmt.Errorf("sysctl %s=%s: %w", path, value, err)
	}
	return nil
}

// silenceIPv6 turns IPv6 off for every interface to come: neighbour discovery would put foreign frames into the
// ledger. bondctl turns it on for the bond of an IPv6 scenario. A kernel without IPv6 is silent already.
func silenceIPv6() error {
	for _, scope := range []string{"all", "default"} {
		err := setSysctl("net/ipv6/conf/"+scope+"/disable_ipv6", "1")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
