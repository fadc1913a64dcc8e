package traffic

import (
	"fmt"
	"math/bits"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// openSniffer opens a packet socket for what comes to an interface beside the scenario's datagrams.
func openSniffer(t scenarios.Traffic, ifindex, buffer int) (fd int, err error) {
	// Of no protocol, it hears nothing before it is bound.
	fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("packet socket for foreign frames: %s", describe(err))
	}
	if err := setUpSniffer(fd, t, ifindex, buffer); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func setUpSniffer(fd int, t scenarios.Traffic, ifindex, buffer int) error {
	if err := attach(fd, foreign(t)); err != nil {
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
