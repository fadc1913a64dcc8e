// Package guest is the program that runs as PID 1 of a machine we booted: it mounts what is needed, loads the
// manifest's modules, says hello, and then does what the host asks, one call at a time. It never judges.
package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"bondrepro/internal/guestproto"

	"golang.org/x/sys/unix"
)

// Handler does one kind of call. body is what the host sent; notify sends progress, v as JSON, and may be called
// from any goroutine until the handler returns. ctx ends when the host cancels or its deadline passes. What it
// returns becomes the reply. A panic of it is reported to the host and ends the guest.
type Handler func(ctx context.Context, body json.RawMessage, notify func(kind string, v any)) (any, error)

// channelDevice is the machine's second 16550: its driver is built into every kernel, unlike that of a
// virtio port, whose console also loses wake-ups.
const channelDevice = "/dev/ttyS1"

// stageVariable marks the second start of this program, see Main.
const stageVariable = "BONDREPRO_GUEST"

// beatEvery is how often the guest says that it lives.
const beatEvery = time.Second

// Main runs the guest and never returns. It must be called by PID 1, before anything that needs /proc.
//
// It runs twice: packages that read /proc when they are initialised (vishvananda/netlink reads
// /proc/net/psched) find it only once it is mounted, so the first start mounts it and executes the program again.
func Main(handlers map[string]Handler) {
	debug.SetTraceback("crash")
	if os.Getenv(stageVariable) == "" {
		refused(reexec())
	}
	die(run(handlers))
}

func reexec() error {
	if err := mountProc(); err != nil {
		return err
	}
	if err := os.Setenv(stageVariable, "1"); err != nil {
		return err
	}
	return fmt.Errorf("execute /proc/self/exe: %w", unix.Exec("/proc/self/exe", os.Args, os.Environ()))
}

// kernelRefused is the exit code of a guest whose kernel lacks what our program needs to run at all: the host
// must not take that for a fault of ours (vm, goDied).
const kernelRefused = 3

// refused is die for what the kernel does not let us do.
func refused(err error) {
	say("the kernel does not let the guest's program run: %v", err)
	os.Exit(kernelRefused)
}

// die tells the console why and ends the machine: when PID 1 ends, the kernel panics, and with panic=-1
// and -no-reboot QEMU exits.
func die(err error) {
	say("the guest's program ends: %v", err)
	os.Exit(1)
}

func run(handlers map[string]Handler) error {
	if err := mountAll(); err != nil {
		refused(err)
	}
	say("%s", guestproto.MarkUserspace)
	port, err := openChannel(channelDevice)
	if err != nil {
		refused(err)
	}
	manifest, err := readManifest(guestproto.ManifestPath)
	if err != nil {
		return err
	}
	problems := loadModules(manifest.Modules)
	problems = append(problems, applySysctls(manifest.Sysctls)...)
	if err := upLoopback(); err != nil {
		refused(err)
	}
	out := guestproto.NewWriter(port)
	hello, err := describe(problems)
	if err != nil {
		return err
	}
	body, err := json.Marshal(hello)
	if err != nil {
		return err
	}
	if err := out.Write(guestproto.Envelope{Type: guestproto.TypeHello, Body: body}); err != nil {
		return err
	}
	go beat(out)
	all := map[string]Handler{guestproto.KindExec: execute}
	maps.Copy(all, handlers)
	s := &server{out: out, in: guestproto.NewReader(port), handlers: all, say: say, die: die}
	return s.serve(context.Background())
}

// beat has a thread of its own, with the highest priority of normal threads, so that busy senders do not make
// the guest look dead.
func beat(out *guestproto.Writer) {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20) // without it the beat is only less punctual
	for range time.Tick(beatEvery) {
		if err := out.Write(guestproto.Envelope{Type: guestproto.TypeBeat}); err != nil {
			die(err)
		}
	}
}
