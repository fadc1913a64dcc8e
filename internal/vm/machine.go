package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bondrepro/internal/guestproto"
	"bondrepro/internal/initramfs"
	"bondrepro/internal/osrun"
)

// Machine is a booted guest. Its methods may be called from any goroutine; calls are done one after the other.
type Machine struct {
	config  Config
	accel   Accelerator
	version string // QEMU's
	wire    *Wire
	hello   guestproto.Hello
	bootMS  float64

	process *osrun.Process
	kill    context.CancelFunc
	console *console
	channel net.Conn
	out     *guestproto.Writer
	heard   atomic.Uint64 // bytes the guest has sent
	greeted chan guestproto.Hello
	marked  chan struct{} // the console showed a mark of our program

	calling sync.Mutex // one call at a time
	mu      sync.Mutex
	nextID  uint64
	current *call // nil when none runs
	closing bool

	dead    chan struct{} // closed when the machine can't be used any more
	deadErr error         // why; valid after dead is closed
	once    sync.Once     // of dead

	stopWire func()
	done     sync.WaitGroup
}

// Start boots a machine and waits for its guest's hello. The machine lives until Close, or until ctx ends. The
// error is a *NoQEMUError, *QEMUError, *KernelError or *GuestError, ctx's, or that of a file which could not be read.
func Start(ctx context.Context, config Config) (*Machine, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	version, err := qemuVersion(ctx, config.QEMU)
	if err != nil {
		return nil, err
	}
	accel := Accelerator{config.Accel, "asked for"}
	if config.Accel == "" {
		if accel, err = chooseAccelerator(ctx, config.QEMU, version, kvmDevice, cachedProbe()); err != nil {
			return nil, err
		}
	}
	m, err := boot(ctx, config, version, accel)
	if accel.Name != TCG || !stalledEarly(err) {
		return m, err
	}
	// TCG itself stands still at a boot now and then (seen once in some hundred, before the kernel's second second): it
	// takes two to blame the kernel, and one is told.
	config.Progress("the kernel reached no userspace; TCG may be to blame: once more")
	if m, err = boot(ctx, config, version, accel); err != nil {
		return nil, err
	}
	m.console.complain(fmt.Sprintf("a boot before this one reached no userspace within %v", config.BootTimeout))
	return m, nil
}

// boot boots once.
func boot(ctx context.Context, config Config, version string, accel Accelerator) (*Machine, error) {
	m := &Machine{
		config: config, version: version, accel: accel,
		dead: make(chan struct{}), greeted: make(chan guestproto.Hello, 1), marked: make(chan struct{}, 1),
	}
	m.console = newConsole(config.ConsoleLog, m.progress)
	began := time.Now()
	if err := m.launch(ctx); err != nil {
		return nil, err
	}
	config.Progress(fmt.Sprintf("booting with %s", strings.ToUpper(m.accel.Name)))
	if err := m.waitHello(ctx); err != nil {
		m.Close()
		return nil, err
	}
	m.bootMS = float64(time.Since(began).Microseconds()) / 1000
	return m, nil
}

// progress tells the user how far the boot is, by the guest's own marks.
func (m *Machine) progress(mark string) {
	select {
	case m.marked <- struct{}{}:
	default: // the one before has not been seen yet: it says as much
	}
	switch {
	case mark == guestproto.MarkUserspace:
		m.config.Progress("the kernel runs our program")
	case mark == guestproto.MarkLoaded:
		m.config.Progress("modules are loaded")
	}
}

// entries are the files of the initramfs.
func entries(c Config) ([]initramfs.Entry, error) {
	manifest := guestproto.Manifest{Sysctls: c.Sysctls}
	all := initramfs.Base(c.Self)
	for _, m := range c.Modules {
		name := m.Name + ".ko"
		manifest.Modules = append(manifest.Modules, guestproto.ManifestModule{Name: m.Name, File: name, Params: c.ModuleParams[m.Name]})
		all = append(all, initramfs.Bytes(guestproto.ModuleDir+"/"+name, 0o644, m.Data))
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	all = append(all, initramfs.Bytes(guestproto.ManifestPath, 0o644, text))
	return append(all, c.Files...), nil
}

// launch starts QEMU and the goroutines that serve it.
func (m *Machine) launch(ctx context.Context) (err error) {
	files, err := entries(m.config)
	if err != nil {
		return err
	}
	initrd, err := memoryFile(files)
	if err != nil {
		return err
	}
	defer initrd.Close()
	consoleEnd, consoleFile, err := socketPair()
	if err != nil {
		return err
	}
	defer consoleFile.Close()
	channelEnd, channelFile, err := socketPair()
	if err != nil {
		consoleEnd.Close()
		return err
	}
	defer channelFile.Close()
	extra := []*os.File{fdConsole - 3: consoleFile, fdChannel - 3: channelFile, fdInitrd - 3: initrd}
	lines, err := openLines(m.config, m.lineFailed)
	defer lines.closeFiles()
	if err != nil {
		consoleEnd.Close()
		channelEnd.Close()
		lines.closePorts()
		return err
	}
	extra = append(extra, lines.files...)
	life, kill := context.WithCancel(ctx)
	p, err := osrun.Start(life, osrun.Cmd{Path: m.config.QEMU, Args: arguments(m.config, m.accel.Name, lines.sockets), ExtraFiles: extra})
	if err != nil {
		kill()
		consoleEnd.Close()
		channelEnd.Close()
		lines.closePorts()
		return &QEMUError{Err: err}
	}
	m.process, m.kill = p, kill
	m.channel, m.out = channelEnd, guestproto.NewWriter(channelEnd)
	m.wire = newWire(lines.ports, m.config.Cables)
	m.stopWire = m.wire.serve()
	shown := make(chan struct{})
	m.done.Go(func() {
		defer close(shown)
		defer consoleEnd.Close()
		_, _ = io.Copy(m.console, consoleEnd) // ends with QEMU
	})
	m.done.Go(m.listen)
	m.done.Go(func() { m.watch(ctx, shown) })
	for _, v := range lines.vhosts {
		m.done.Go(func() { v.serve(p.Pid()) })
	}
	m.done.Go(func() {
		<-p.Done()
		for _, v := range lines.vhosts {
			v.dial.hangUp()
		}
	})
	return nil
}

// lineFailed gives the machine up because of one of its NICs.
func (m *Machine) lineFailed(err error) {
	var broken *KernelError
	if errors.As(err, &broken) {
		broken.Console = m.console.state().tail
	}
	m.die(err)
}

// watch waits for QEMU's end and says what it means.
func (m *Machine) watch(ctx context.Context, shown <-chan struct{}) {
	<-m.process.Done()
	<-shown // the panic is in the console's last bytes
	m.mu.Lock()
	closing := m.closing
	m.mu.Unlock()
	switch {
	case closing:
		m.die(ErrClosed)
	case ctx.Err() != nil:
		m.die(context.Cause(ctx))
	default:
		m.die(ended(m.process.Wait(), m.process.Tail(), m.console.state()))
	}
}

// die marks the machine as unusable; the first reason stays.
func (m *Machine) die(err error) {
	m.once.Do(func() {
		m.deadErr = err
		close(m.dead)
	})
}

// counting notes how much the guest has said.
type counting struct {
	io.Reader
	bytes *atomic.Uint64
}

func (c counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.bytes.Add(uint64(n))
	return n, err
}

// listen takes the guest's messages until the channel ends.
func (m *Machine) listen() {
	in := guestproto.NewReader(counting{m.channel, &m.heard})
	for {
		e, err := in.Read()
		if errors.Is(err, guestproto.ErrDamaged) {
			m.fail(fmt.Errorf("%w: a reply may be lost", err))
			continue
		}
		if err != nil {
			return // QEMU ended or Close closed it: watch knows which
		}
		switch e.Type {
		case guestproto.TypeHello:
			var h guestproto.Hello
			if err := json.Unmarshal(e.Body, &h); err != nil {
				m.die(fmt.Errorf("read the guest's hello: %w", err))
				return
			}
			select {
			case m.greeted <- h:
			default: // a guest says hello once; a second one is not for us
			}
		case guestproto.TypePanic:
			m.die(&GuestError{What: e.Error, Console: m.console.state().tail})
		case guestproto.TypeNote, guestproto.TypeReply:
			m.deliver(e)
		}
	}
}

// waitHello waits for the guest's first word, the machine's death or the deadline. Once our program runs there it
// says on the console what it does, and none of it takes long: from then on silence is a hang.
func (m *Machine) waitHello(ctx context.Context) error {
	patience := m.config.BootTimeout
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case m.hello = <-m.greeted:
			return nil
		case <-m.dead:
			return m.deadErr
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-m.marked:
			patience = m.config.HangAfter
			limit.Reset(patience)
		case <-limit.C:
			return noHello(patience, m.console.state())
		}
	}
}

// Hello is what the guest said of itself.
func (m *Machine) Hello() guestproto.Hello { return m.hello }

// Wire is the other end of the NICs. It is of no use after Close, but what End gives stays.
func (m *Machine) Wire() *Wire { return m.wire }

// Accelerator is what QEMU runs the guest with.
func (m *Machine) Accelerator() Accelerator { return m.accel }

// QEMUVersion is what QEMU calls itself: 7.2.22.
func (m *Machine) QEMUVersion() string { return m.version }

// BootMS is how long it took from starting QEMU to the guest's hello, in milliseconds.
func (m *Machine) BootMS() float64 { return m.bootMS }

// Complaints are the lines with which the guest's kernel reported faults of its own (BUG, WARNING, stalls, a TX queue
// that is not there), the first 20. A machine that goes on after them is suspicious.
func (m *Machine) Complaints() []string { return m.console.said() }

// TakeComplaints are those since it was last called, the first 20 of them.
func (m *Machine) TakeComplaints() []string { return m.console.take() }

// closeLimit is how long Close waits for QEMU, which SIGKILL ends at once unless the host is in trouble.
const closeLimit = 10 * time.Second

// Close kills QEMU and waits for its end. It may be called again, also while a call runs, which then ends with
// ErrClosed, and after the context ended.
func (m *Machine) Close() error {
	m.mu.Lock()
	first := !m.closing
	m.closing = true
	m.mu.Unlock()
	if !first {
		<-m.dead
		return nil
	}
	m.kill()
	select {
	case <-m.process.Done():
	case <-time.After(closeLimit):
		m.die(ErrClosed)
		return fmt.Errorf("close the machine: QEMU (process %d) did not end within %v of SIGKILL", m.process.Pid(), closeLimit)
	}
	m.channel.Close()
	m.done.Wait()
	m.stopWire()
	return nil
}
