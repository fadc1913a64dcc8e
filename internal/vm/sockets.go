package vm

import (
	"errors"
	"fmt"
	"net"
	"os"

	"bondrepro/internal/initramfs"

	"golang.org/x/sys/unix"
)

// socketPair makes the two ends of a serial port: ours with deadlines, theirs to be handed to QEMU.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make the socket pair of a serial port: %w", err)
	}
	f := os.NewFile(uintptr(p[0]), "serial port")
	ours, err = net.FileConn(f) // a duplicate
	if err = errors.Join(err, f.Close()); err != nil {
		unix.Close(p[1])
		return nil, nil, fmt.Errorf("make the socket pair of a serial port: %w", err)
	}
	return ours, os.NewFile(uintptr(p[1]), "serial port"), nil
}

// memoryFile writes an initramfs to a file that has no name on disk.
func memoryFile(entries []initramfs.Entry) (*os.File, error) {
	fd, err := unix.MemfdCreate("initramfs", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a memory file for the initramfs: %w", err)
	}
	f := os.NewFile(uintptr(fd), "initramfs")
	if err := initramfs.Write(f, entries); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
