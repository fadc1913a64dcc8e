package ifstate

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// netDir is /proc/net of the calling thread's namespace.
const netDir = "/proc/thread-self/net/"

// staticMulticast are the link-layer addresses that somebody set, by interface: those of /proc/net/dev_mcast whose
// fourth column, "global use", is not 0 (net/core/dev_addr_lists.c).
func staticMulticast() (map[int][]string, error) {
	all := map[int][]string{}
	err := eachLine("dev_mcast", func(_ string, words []string) error {
		if len(words) != 5 || words[3] == "0" {
			return nil
		}
		index, err := strconv.Atoi(words[0])
		if err != nil {
			return err
		}
		address, err := hex.DecodeString(words[4])
		if err != nil {
			return err
		}
		all[index] = append(all[index], net.HardwareAddr(address).String())
		return nil
	})
	for _, addresses := range all {
		slices.Sort(addresses)
	}
	return all, err
}

// memberships are the IP groups that interfaces are members of, by interface (net/ipv4/igmp.c, net/ipv6/mcast.c).
func memberships() (map[int][]string, error) {
	all := map[int][]string{}
	index := 0
	err := eachLine("igmp", func(line string, words []string) error {
		// An interface has a line, then each of its groups has one that begins with tabs.
		if !strings.HasPrefix(line, "\t") {
			index, _ = strconv.Atoi(words[0]) // 0 in the heading
			return nil
		}
		group, err := hex.DecodeString(words[0])
		if err != nil {
			return err
		}
		slices.Reverse(group) // written as a number of this machine's order
		all[index] = append(all[index], ip(group).String())
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = eachLine("igmp6", func(_ string, words []string) error {
		if len(words) < 3 {
			return nil
		}
		n, err := strconv.Atoi(words[0])
		if err != nil {
			return err
		}
		group, err := hex.DecodeString(words[2])
		if err != nil {
			return err
		}
		all[n] = append(all[n], ip(group).String())
		return nil
	})
	for _, groups := range all {
		slices.Sort(groups)
	}
	return all, err
}

// eachLine gives the words of each line of a file that a kernel may lack.
func eachLine(name string, do func(line string, words []string) error) error {
	b, err := os.ReadFile(netDir + name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := do(line, words); err != nil {
			return fmt.Errorf("%s%s: %q: %w", netDir, name, line, err)
		}
	}
	return nil
}

// setMulticast adds or removes a link-layer address, as `ip maddr add` and `del` (netdevice(7)).
func setMulticast(name, address string, add bool) error {
	mac, err := net.ParseMAC(address)
	if err != nil {
		return err
	}
	// struct ifreq with a struct sockaddr: family 0, then the address.
	var request struct {
		name   [unix.IFNAMSIZ]byte
		family uint16
		data   [22]byte
	}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	copy(request.data[:14], mac)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	command := uintptr(unix.SIOCDELMULTI)
	if add {
		command = unix.SIOCADDMULTI
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), command, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}
