package workload

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sockets is how many this process has open.
func sockets(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

func TestCancelLeavesNothing(t *testing.T) {
	for name, spec := range everyKind {
		t.Run(name, func(t *testing.T) {
			goroutines, fds, procs := runtime.NumGoroutine(), sockets(t), runtime.GOMAXPROCS(0)
			spec.Duration = time.Hour
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			timer := time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
			defer timer.Stop()
			inNamespace(t, func() {
				s, err := Listen(spec, loopback)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				c, err := s.Dial(context.WithoutCancel(ctx))
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				if _, err := c.Run(ctx); !errors.Is(err, cause) {
					t.Errorf("error %v, want the cause of the end", err)
				}
			})
			deadline := time.Now().Add(10 * time.Second)
			for runtime.NumGoroutine() > goroutines && time.Now().Before(deadline) {
				time.Sleep(time.Millisecond) // one that is done may not be gone yet
			}
			if n := runtime.NumGoroutine(); n > goroutines {
				t.Errorf("%d goroutines are left of %d", n-goroutines, n)
			}
			if n := sockets(t); n != fds {
				t.Errorf("%d sockets, there were %d", n, fds)
			}
			if n := runtime.GOMAXPROCS(0); n != procs {
				t.Errorf("GOMAXPROCS is %d, it was %d", n, procs)
			}
		})
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	inNamespace(t, func() {
		s, err := Listen(Spec{Kind: RR, Duration: 1}, loopback)
		if err != nil {
			t.Error(err)
			return
		}
		defer s.Close()
		if err := unix.Listen(s.listener, 0); err != nil { // room for one
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		to, err := local(s.listener)
		if err != nil {
			t.Error(err)
		}
		for range 3 { // the last ones' SYNs are dropped
			fd, err := open(loopback, unix.SOCK_STREAM)
			if err != nil {
				t.Error(err)
				return
			}
			defer unix.Close(fd)
			if err = connect(ctx, fd, to); err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
				return
			}
		}
		t.Error("a full backlog took all connections")
	})
}

// A peer that is gone: its end of the connection is closed, with what it still had to read, so that it sends RST or ICMP.
func TestADeadPeerIsNamed(t *testing.T) {
	for name, want := range map[string]struct {
		op    string
		errno error
	}{
		"stream": {"write", unix.ECONNRESET},
		"rr":     {"read the response", unix.ECONNRESET},
		"rr udp": {"receive the response", unix.ECONNREFUSED},
		"udp":    {"send", unix.ECONNREFUSED},
	} {
		t.Run(name, func(t *testing.T) {
			spec := everyKind[name]
			spec.Connections, spec.Duration = 1, time.Hour
			c := dial(t, spec, loopback)
			ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(ends[1])
			peer := c.pairs[0].server
			c.pairs[0].server = ends[0] // the server's thread waits for nobody
			timer := time.AfterFunc(20*time.Millisecond, func() { unix.Close(peer) })
			defer timer.Stop()
			_, err = c.Run(t.Context())
			var e *Error
			if !errors.As(err, &e) || e.Op != want.op && !errors.Is(err, unix.EPIPE) || e.Object != "connection 0" || !errors.Is(err, want.errno) && !errors.Is(err, unix.EPIPE) {
				t.Errorf("error %v, want %v of %s", err, want.errno, want.op)
			}
		})
	}
}

func TestNothingThatArrivesIsAnError(t *testing.T) {
	c := dial(t, short(Spec{Kind: RR}), loopback)
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[1])
	defer unix.Close(c.pairs[0].server)
	c.pairs[0].server = ends[0] // nobody answers
	if _, err := c.Run(t.Context()); !errors.Is(err, ErrNothing) {
		t.Errorf("error %v", err)
	}
}
