package traffic

import (
	"fmt"
	"math/bits"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"bondrepro/internal/stamp"
	"bondrepro/scenarios"
)

// heard is the interface by which a line's datagrams are heard: that of the VLAN they are in, else the line's own.
func (cfg ReceiveConfig) heard(line int) int {
	if cfg.VLAN != 0 {
		return cfg.Members[line]
	}
	return cfg.Ifindexes[line]
}

// sniffed is what a frame is that no UDP socket heard. One of ours that has all they look at has a wrong tag, which the
// frame does not tell.
func (r *intake) sniffed(frame []byte) stamp.Kind {
	d, kind := stamp.Find(frame)
	if _, ours := stamp.Parse(d.Payload); ours && kind == r.kind && d.To.Port() == uint16(r.traffic.Port) {
		return stamp.VLAN
	}
	return kind
}

// openSniffer opens a packet socket for what comes to an interface beside the scenario's datagrams in that VLAN.
func openSniffer(t scenarios.Traffic, vlan, ifindex, buffer int) (fd int, err error) {
	// Of no protocol, it hears nothing before it is bound.
	fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("packet socket for foreign frames: %s", describe(err))
	}
	if err := setUpSniffer(fd, t, vlan, ifindex, buffer); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func setUpSniffer(fd int, t scenarios.Traffic, vlan, ifindex, buffer int) error {
	if err := attach(fd, foreign(t, vlan)); err != nil {
		return err
	}
	if err := setUpReceiving(fd, buffer); err != nil {
		return err
	}
	all := bits.ReverseBytes16(unix.ETH_P_ALL) // network order; every machine this runs on is little endian
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: ifindex}); err != nil {
		return fmt.Errorf("bind the packet socket for foreign frames to interface %d: %w", ifindex, err)
	}
	return nil
}

// attach makes a socket take only what a filter lets through (SO_ATTACH_FILTER).
func attach(fd int, filter []bpf.Instruction) error {
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return fmt.Errorf("assemble the filter for foreign frames: %w", err)
	}
	program := make([]unix.SockFilter, 0, len(raw))
	for _, x := range raw {
		program = append(program, unix.SockFilter{Code: x.Op, Jt: x.Jt, Jf: x.Jf, K: x.K})
	}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}); err != nil {
		return fmt.Errorf("setsockopt SO_ATTACH_FILTER: %w", err)
	}
	return nil
}
