package vm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"bondrepro/internal/guest"
	"bondrepro/internal/stamp"
	"bondrepro/qdiscstat"
	"bondrepro/qdiscstat/counters"

	"golang.org/x/sys/unix"
)

// printAndExit in the environment makes the test binary print the file it names and exit with 7.
const printAndExit = "BONDREPRO_TEST_PRINT"

// The test binary is also the guest's init, and the parent of the SIGKILL test.
func TestMain(m *testing.M) {
	if guest.Booted() {
		guest.Main(handlers)
	}
	if path := os.Getenv(printAndExit); path != "" {
		b, _ := os.ReadFile(path)
		os.Stdout.Write(b)
		os.Exit(7)
	}
	if os.Getenv(bootAndWait) != "" {
		os.Exit(bootThenWait())
	}
	os.Exit(m.Run())
}

// handlers are what the tests ask of the guest.
var handlers = map[string]guest.Handler{
	"echo": func(_ context.Context, body json.RawMessage, _ func(string, any)) (any, error) { return body, nil },
	"count": func(_ context.Context, body json.RawMessage, notify func(string, any)) (any, error) {
		var n int
		if err := json.Unmarshal(body, &n); err != nil {
			return nil, err
		}
		for i := range n {
			notify("at", i)
		}
		return n, nil
	},
	"wait": func(ctx context.Context, _ json.RawMessage, _ func(string, any)) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	},
	"panic": func(context.Context, json.RawMessage, func(string, any)) (any, error) { panic("on purpose") },
	"sysrq": func(_ context.Context, body json.RawMessage, _ func(string, any)) (any, error) {
		var key string
		if err := json.Unmarshal(body, &key); err != nil {
			return nil, err
		}
		return nil, os.WriteFile("/proc/sysrq-trigger", []byte(key), 0)
	},
	// spin keeps all CPUs busy, more threads than there are.
	"spin": func(ctx context.Context, _ json.RawMessage, _ func(string, any)) (any, error) {
		var busy sync.WaitGroup
		for range 8 {
			busy.Go(func() {
				for ctx.Err() == nil {
					_ = unix.Getpid()
				}
			})
		}
		busy.Wait()
		return nil, ctx.Err()
	},
	// give replies with that many characters that do not compress well; take replies with how many came.
	"give": func(_ context.Context, body json.RawMessage, _ func(string, any)) (any, error) {
		var n int
		if err := json.Unmarshal(body, &n); err != nil {
			return nil, err
		}
		return noise(n), nil
	},
	"take": func(_ context.Context, body json.RawMessage, _ func(string, any)) (any, error) {
		var s string
		err := json.Unmarshal(body, &s)
		return len(s), err
	},
	"send":   send,
	"cable":  cable,
	"spray":  spray,
	"qdiscs": qdiscs,
	"bonds":  bonds,
	// log writes a line to the kernel's log, as a warning.
	"log": func(_ context.Context, body json.RawMessage, _ func(string, any)) (any, error) {
		var text string
		if err := json.Unmarshal(body, &text); err != nil {
			return nil, err
		}
		return nil, os.WriteFile("/dev/kmsg", []byte("<4>"+text+"\n"), 0)
	},
}

// sendJob is what the send handler is to do.
type sendJob struct {
	Run     uint32
	Count   uint64
	Payload int
	NIC     int
}

// send sends datagrams straight out of a NIC to a multicast group, and replies with the time it took in ns.
func send(ctx context.Context, body json.RawMessage, _ func(string, any)) (any, error) {
	var job sendJob
	if err := json.Unmarshal(body, &job); err != nil {
		return nil, err
	}
	fd, err := multicastSocket(job.NIC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, job.Payload)
	stamp.Put(b, stamp.Header{Run: job.Run})
	began := time.Now()
	for seq := uint64(0); seq < job.Count && ctx.Err() == nil; seq++ {
		stamp.PutSeq(b, seq, 0)
		if err := unix.Sendto(fd, b, 0, group); err != nil {
			return nil, err
		}
	}
	return time.Since(began), nil
}

// group is where datagrams go.
var group = &unix.SockaddrInet4{Port: 6000, Addr: [4]byte{239, 66, 1, 1}}

// multicastSocket brings a NIC up and makes a socket that sends to groups out of it.
func multicastSocket(nic int) (int, error) {
	dev, err := net.InterfaceByName(fmt.Sprintf("eth%d", nic))
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return -1, err
	}
	err = bringUp(fd, dev, byte(nic+1))
	if err == nil {
		err = unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, &unix.IPMreqn{Ifindex: int32(dev.Index)})
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// sprayJob is what the spray handler is to do: Senders threads, each on a CPU of its own, send Count datagrams each.
type sprayJob struct {
	Run      uint32
	Senders  int
	Count    uint64
	Payload  int
	NIC      int
	Buffered bool // with send buffers that hold everything, so that nothing waits
}

// spray sends straight out of a NIC from several threads. XPS gives each CPU a queue of its own.
func spray(ctx context.Context, body json.RawMessage, _ func(string, any)) (any, error) {
	var job sprayJob
	if err := json.Unmarshal(body, &job); err != nil {
		return nil, err
	}
	errs := make([]error, job.Senders)
	var senders sync.WaitGroup
	for i := range job.Senders {
		senders.Go(func() {
			runtime.LockOSThread() // never unlocked: the thread is pinned
			errs[i] = sprayOne(ctx, job, i)
		})
	}
	senders.Wait()
	return nil, errors.Join(errs...)
}

func sprayOne(ctx context.Context, job sprayJob, sender int) error {
	var cpu unix.CPUSet
	cpu.Set(sender % runtime.NumCPU())
	if err := unix.SchedSetaffinity(0, &cpu); err != nil {
		return err
	}
	fd, err := multicastSocket(job.NIC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if job.Buffered {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 64<<20); err != nil {
			return err
		}
	}
	b := make([]byte, job.Payload)
	stamp.Put(b, stamp.Header{Run: job.Run, Sender: uint16(sender)})
	for seq := uint64(0); seq < job.Count && ctx.Err() == nil; seq++ {
		stamp.PutSeq(b, seq, 0)
		if err := unix.Sendto(fd, b, 0, group); err != nil {
			return err
		}
	}
	return nil
}

// qdiscs replies with the leaf qdiscs of a NIC.
func qdiscs(_ context.Context, body json.RawMessage, _ func(string, any)) (any, error) {
	var nic int
	if err := json.Unmarshal(body, &nic); err != nil {
		return nil, err
	}
	c, err := qdiscstat.Open()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	index, err := c.Ifindex(fmt.Sprintf("eth%d", nic))
	if err != nil {
		return nil, err
	}
	all, err := c.Of(nil, index)
	return counters.Leaves(all), err
}

// cableJob is what the cable handler is to do: send a frame out of one NIC and wait for it at another.
type cableJob struct{ From, To int }

// cable sends a frame of the slow protocols and replies with the one that the other NIC received.
func cable(_ context.Context, body json.RawMessage, _ func(string, any)) (any, error) {
	var job cableJob
	if err := json.Unmarshal(body, &job); err != nil {
		return nil, err
	}
	out, err := slowSocket(job.From)
	if err != nil {
		return nil, err
	}
	defer unix.Close(out)
	in, err := slowSocket(job.To)
	if err != nil {
		return nil, err
	}
	defer unix.Close(in)
	frame := append([]byte{1, 0x80, 0xc2, 0, 0, 2, 0x52, 0x54, 0, 0xb0, 0x4d, 1, 0x88, 0x09}, make([]byte, 110)...)
	frame[14] = 0xfe // no subtype there is: nobody else minds it
	if _, err := unix.Write(out, frame); err != nil {
		return nil, err
	}
	got := make([]byte, 2048)
	n, err := unix.Read(in, got)
	return got[:max(n, 0)], err
}

// slowSocket is a socket of the slow protocols on a NIC, a member of their group: QEMU filters what a NIC receives.
func slowSocket(nic int) (int, error) {
	dev, err := net.InterfaceByName(fmt.Sprintf("eth%d", nic))
	if err != nil {
		return -1, err
	}
	inet, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(inet)
	if err := bringUp(inet, dev, byte(nic+1)); err != nil {
		return -1, err
	}
	const protocol = 0x0988 // htons(ETH_P_SLOW)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, protocol)
	if err != nil {
		return -1, err
	}
	timeout := unix.NsecToTimeval(int64(10 * time.Second))
	group := unix.PacketMreq{Ifindex: int32(dev.Index), Type: unix.PACKET_MR_MULTICAST, Alen: 6, Address: [8]byte{1, 0x80, 0xc2, 0, 0, 2}}
	err = errors.Join(
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: dev.Index}),
		unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &group),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout),
	)
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// bringUp is `ip address add 192.0.2.LAST/24 dev DEV; ip link set DEV up mtu 9000`.
func bringUp(fd int, dev *net.Interface, last byte) error {
	set := func(req uint, put func(*unix.Ifreq) error) error {
		ifr, err := unix.NewIfreq(dev.Name)
		if err == nil {
			err = put(ifr)
		}
		if err == nil {
			err = unix.IoctlIfreq(fd, req, ifr)
		}
		return err
	}

	for _, s := range []struct {
		req uint
		put func(*unix.Ifreq) error
	}{
		{unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr([]byte{192, 0, 2, last}) }},
		{unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(9000); return nil }},
		{unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP); return nil }},
	} {
		if err := set(s.req, s.put); err != nil {
			return fmt.Errorf("set up %s: %w", dev.Name, err)
		}
	}
	return nil
}

// noise is text of n characters, 6 bits of chance each.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[r.IntN(64)]
	}
	return string(b)
}
