package ports

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
)

// session is an SSH connection to this machine.
type session struct {
	local netip.Addr
	peer  netip.AddrPort
}

// sshThrough tells the far ends of the SSH connections that go through one of the devices: their packets come to an
// address on it, or go back out of it.
func sshThrough(root tree, links []link, on []string) ([]string, error) {
	addrs, err := again(func() ([]netlink.Addr, error) { return netlink.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, fmt.Errorf("ip address show: %w", err)
	}
	owners := map[netip.Addr][]string{} // link-local addresses may have several
	for _, a := range addrs {
		if ip, ok := netip.AddrFromSlice(a.IP); ok {
			ip = ip.Unmap()
			owners[ip] = append(owners[ip], nameOf(links, a.LinkIndex))
		}
	}
	var peers []string
	for _, s := range root.sessions() {
		through := append([]string{wayTo(links, s.peer.Addr())}, owners[s.local.WithZone("")]...)
		if slices.ContainsFunc(through, func(device string) bool { return slices.Contains(on, device) }) {
			peers = append(peers, s.peer.String())
		}
	}
	return peers, nil
}

// sessions are all SSH connections to this machine: those that this process or one above it came by (sudo takes
// $SSH_CONNECTION away, and a terminal multiplexer keeps an old one), and every one that is established.
func (t tree) sessions() []session {
	all, ports := t.inherited()
	for _, file := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(t.path("proc/thread-self/net", file))
		if err != nil {
			continue // a kernel without IPv6
		}
		all = append(all, established(string(text), ports)...)
	}
	var each []session
	for _, s := range all {
		if s.peer.Addr().IsLoopback() || slices.Contains(each, s) {
			continue
		}
		each = append(each, s)
	}
	return each
}

// sshPort is sshd's, unless $SSH_CONNECTION names another one.
const sshPort = 22

// inherited reads $SSH_CONNECTION of this process and of those above it, and the ports it names.
func (t tree) inherited() (all []session, ports []uint16) {
	ports = []uint16{sshPort}
	for pid := "self"; ; {
		environ, _ := os.ReadFile(t.path("proc", pid, "environ")) // only root may read those of others
		for _, v := range strings.Split(string(environ), "\x00") {
			value, ok := strings.CutPrefix(v, "SSH_CONNECTION=")
			if !ok {
				continue
			}
			if s, port, ok := connection(value); ok {
				all, ports = append(all, s), append(ports, port)
			}
		}
		parent := t.parent(pid)
		if parent <= 0 {
			return all, ports
		}
		pid = strconv.Itoa(parent)
	}
}

// parent is the fourth field of /proc/PID/stat; the second, in parentheses, may hold anything.
func (t tree) parent(pid string) int {
	stat := t.read("proc", filepath.Clean(pid), "stat")
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(fields[1])
	return n
}

// connection reads "CLIENT PORT SERVER PORT" (ssh(1)).
func connection(value string) (s session, port uint16, ok bool) {
	fields := strings.Fields(value)
	if len(fields) != 4 {
		return s, 0, false
	}
	peer, err1 := netip.ParseAddr(fields[0])
	peerPort, err2 := strconv.ParseUint(fields[1], 10, 16)
	local, err3 := netip.ParseAddr(fields[2])
	localPort, err4 := strconv.ParseUint(fields[3], 10, 16)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return s, 0, false
		}
	}
	return session{local: local.Unmap(), peer: netip.AddrPortFrom(peer.Unmap(), uint16(peerPort))}, uint16(localPort), true
}

// stateEstablished is TCP_ESTABLISHED (include/net/tcp_states.h), as /proc/net/tcp writes it.
const stateEstablished = "01"

// established reads /proc/net/tcp or tcp6 (net/ipv4/tcp_ipv4.c, get_tcp4_sock) and keeps the connections of these local ports.
func established(text string, ports []uint16) []session {
	var all []session
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != stateEstablished {
			continue
		}
		local, ok1 := endpoint(fields[1])
		peer, ok2 := endpoint(fields[2])
		if ok1 && ok2 && slices.Contains(ports, local.Port()) {
			all = append(all, session{local: local.Addr(), peer: peer})
		}
	}
	return all
}

// endpoint reads an address, written as 32-bit words of the machine's byte order, and a port.
func endpoint(s string) (netip.AddrPort, bool) {
	address, port, ok := strings.Cut(s, ":")
	words, err := hex.DecodeString(address)
	p, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(words)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(words); i += 4 {
		binary.NativeEndian.PutUint32(words[i:], binary.BigEndian.Uint32(words[i:]))
	}
	ip, ok := netip.AddrFromSlice(words)
	return netip.AddrPortFrom(ip.Unmap(), uint16(p)), ok
}
