package acceptance

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/osrun"

	"github.com/vishvananda/netlink"
)

// setUp sets a port up and waits for its carrier.
func setUp(t *testing.T, name string) {
	t.Helper()
	link, err := netlink.LinkByName(name)
	if err != nil { // pulled out
		return
	}
	if err := netlink.LinkSetUp(link); err != nil {
		t.Fatal(err)
	}
	settled(t)
}

// settled waits until what comes by itself has come: carrier, and IPv6's look for duplicates.
func settled(t *testing.T) {
	t.Helper()
	time.Sleep(100 * time.Millisecond)
	if !eventually(func() bool {
		addrs, err := netlink.AddrList(nil, netlink.FAMILY_V6)
		for _, a := range addrs {
			if a.Flags&0x40 != 0 { // IFA_F_TENTATIVE
				return false
			}
		}
		return err == nil
	}) {
		t.Fatal("IPv6 addresses stay tentative")
	}
}

// ip runs command lines of ip.
func ip(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if code, output := command(t, "/bin/ip", strings.Fields(line)...); code != 0 {
			t.Fatalf("ip %s: %s", line, output)
		}
	}
}

// command runs a program of the guest and returns its exit code and what it wrote.
func command(t *testing.T, path string, args ...string) (code int, output string) {
	t.Helper()
	var out, says bytes.Buffer // each is written by a goroutine of its own
	_, err := osrun.Run(context.Background(), osrun.Cmd{Path: path, Args: args, Env: []string{"PATH=/bin", "HOME=/tmp"}, Stdout: &out, Stderr: &says, Timeout: patience})
	var failed *osrun.Error
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return exitOf(err), out.String() + says.String()
}

// exitOf is the exit code of a process that has ended; -1 when a signal ended it.
func exitOf(err error) int {
	var failed *osrun.Error
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &failed) || failed.Signal != 0:
		return -1
	}
	return failed.ExitCode
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
