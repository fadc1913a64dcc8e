package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/exitcode"
	"bondrepro/reproducer/result"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestReceiveEnds: an interface that vanishes is an error, a signal is none; the file is whole and says that it has ended
// in both cases, and what came is printed.
func TestReceiveEnds(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	for _, c := range []struct {
		name   string
		end    func(h *netlink.Handle, rx netlink.Link, stop context.CancelCauseFunc) error
		code   int
		stderr string
	}{
		{"the interface vanishes", func(h *netlink.Handle, rx netlink.Link, _ context.CancelCauseFunc) error { return h.LinkDel(rx) }, exitcode.Usage, "bondrepro: --interface rx: it is gone: "},
		{"a signal", func(_ *netlink.Handle, _ netlink.Link, stop context.CancelCauseFunc) error {
			stop(&exitcode.Stopped{Signal: unix.SIGTERM})
			return nil
		}, exitcode.Good, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "rx.json")
			var stdout, stderr bytes.Buffer
			code := make(chan int, 1)
			ctx, stop := context.WithCancelCause(t.Context())
			inPlace := make(chan *netlink.Handle, 1)
			go func() {
				runtime.LockOSThread() // for good: the thread is thrown away with its namespace
				h, err := newPlace()
				inPlace <- h
				if err != nil {
					t.Error(err)
					return
				}
				code <- execute(ctx, []string{"receive", "bond-multicast-tx", "--interface", "rx", "-o", file}, &stdout, &stderr)
			}()
			h := <-inPlace
			if h == nil {
				t.FailNow()
			}
			defer h.Close()
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if _, err := os.Stat(file); err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("there is no file")
				}
			}
			rx, err := h.LinkByName("rx")
			if err != nil {
				t.Fatal(err)
			}
			if err := c.end(h, rx, stop); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-code:
				if got != c.code || !strings.Contains(stderr.String(), c.stderr) || !strings.Contains(stdout.String(), "listened on rx (veth)") {
					t.Errorf("ended in %d, want %d; it wrote:\n%s%s", got, c.code, &stdout, &stderr)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it goes on")
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if f, err := result.DecodeReceiver(file, data); err != nil || !f.Ended {
				t.Errorf("the file: %v, ended %t", err, f.Ended)
			}
		})
	}
}

// newPlace gives the thread a network namespace with a veth pair that is up, and what reaches it from other threads.
func newPlace() (*netlink.Handle, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, os.NewSyscallError("unshare CLONE_NEWNET", err)
	}
	h, err := netlink.NewHandle()
	if err != nil {
		return nil, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "tx"
	if err := h.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "rx"}); err != nil {
		return nil, err
	}
	for _, name := range []string{"tx", "rx"} {
		l, err := h.LinkByName(name)
		if err != nil {
			return nil, err
		}
		if err := h.LinkSetUp(l); err != nil {
			return nil, err
		}
	}
	return h, nil
}
