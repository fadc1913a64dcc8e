package netns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"bondrepro/internal/measure"
	"bondrepro/internal/osrun"
	"bondrepro/reproducer/result"

	"golang.org/x/sys/unix"
)

const (
	setupLimit = 30 * time.Second
	// endLimit is how long a killed child may take to end: it does so at once unless the kernel hangs in it.
	endLimit = 10 * time.Second
)

// ErrClosed is what calls of a closed place end with.
var ErrClosed = errors.New("the place is closed")

// Place is a child process with its namespaces. Its calls may come from any goroutine and wait for each other.
// Whoever started it closes it.
type Place struct {
	process *osrun.Process
	said    *beginning
	channel net.Conn
	facts   facts

	mu   sync.Mutex // one call at a time
	in   *json.Decoder
	dead error // why there are no more calls; guarded by mu
}

// Start makes the place, as root in a network namespace of its own, else in a user namespace, too. The ctx ends
// waiting for it; the place lives until Close. Errors are *SetupError, *PanicError, *DeadError or ctx's.
func Start(ctx context.Context, config Config) (*Place, error) {
	p, err := startChild(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, setupLimit)
	defer cancel()
	if err := p.call(limited, kindSetup, config, &p.facts); err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			err = &SetupError{Text: fmt.Sprintf("the private namespaces were not ready within %v", setupLimit)}
		}
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// startChild tries a network namespace first where root may have the right to make one.
func startChild(ctx context.Context) (*Place, error) {
	if os.Geteuid() == 0 {
		p, err := start(ctx, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET})
		if !errors.Is(err, syscall.EPERM) {
			return p, err
		}
	}
	return start(ctx, &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	})
}

func start(ctx context.Context, attr *syscall.SysProcAttr) (*Place, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	p := &Place{said: &beginning{}, channel: ours, in: json.NewDecoder(ours)}
	p.process, err = osrun.Start(context.WithoutCancel(ctx), osrun.Cmd{
		Path: "/proc/self/exe", Args: []string{childArgument}, Stderr: p.said,
		Env: append(os.Environ(), childVariable+"=1"), ExtraFiles: []*os.File{theirs}, Attr: attr,
	})
	closed := theirs.Close()
	if err != nil {
		return nil, errors.Join(refusedClone(err, attr.Cloneflags&syscall.CLONE_NEWUSER != 0), closed, ours.Close())
	}
	return p, nil
}

// beginning keeps the first of what is written to it. It is read after the writer's end.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	const most = 1 << 10
	b.text = append(b.text, p[:min(len(p), most-len(b.text))]...)
	return len(p), nil
}

// socketPair is the channel: our end, and the child's.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	file := os.NewFile(uintptr(fds[0]), "channel")
	theirs = os.NewFile(uintptr(fds[1]), "channel")
	ours, err = net.FileConn(file) // a copy, which the poller serves
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}

// Pid is the child's.
func (p *Place) Pid() int { return p.process.Pid() }

// Slaves are the MAC addresses of the slaves a job may name.
func (p *Place) Slaves() []string { return p.facts.Slaves }

// Partner are those of the second bond's interfaces, in the order of the slaves they are cabled to.
func (p *Place) Partner() []string { return p.facts.Partner }

// Notes are what could not be made as wanted, in whole sentences.
func (p *Place) Notes() []string { return p.facts.Notes }

// Probe builds the job's topology on lines that stand still. Errors are as those of Measure.
func (p *Place) Probe(ctx context.Context, job measure.Job) (probe measure.Probe, err error) {
	rate := float64(measure.Standstill * max(1, job.Scenario.Topology.Slaves.Queues))
	job.Shape, job.LineRate = true, slices.Repeat([]float64{rate}, len(job.Slaves))
	err = p.call(ctx, measure.KindProbe, job, &probe)
	return probe, err
}

// Measure runs the job, with lines of job.LineRate made by tbf, or open ones where there is none, and with what came
// out of them in the recording. When ctx ends the child is killed: the place is of no use then. Errors are
// *measure.Fault, *PanicError, *DeadError, ErrClosed or ctx's.
func (p *Place) Measure(ctx context.Context, job measure.Job) (rec result.Recording, err error) {
	job.Shape = true
	err = p.call(ctx, measure.KindMeasure, job, &rec)
	return rec, err
}

// Sample measures the job's workload, which goes over no bond, in namespaces of the sample's own. When ctx ends the child is
// killed. Errors are those of Measure.
func (p *Place) Sample(ctx context.Context, job measure.Job) (sample result.Sample, err error) {
	err = p.call(ctx, measure.KindSample, job, &sample)
	return sample, err
}

func (p *Place) call(ctx context.Context, kind string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("call %s: %w", kind, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead != nil {
		return p.dead
	}
	defer p.breakOff(ctx)()
	var r response
	err = json.NewEncoder(p.channel).Encode(request{Kind: kind, Body: body})
	if err == nil {
		err = p.in.Decode(&r)
	}
	switch {
	case err != nil:
		p.dead = p.why(ctx)
		return p.dead
	case r.Error != "":
		return &SetupError{Text: r.Error}
	case r.Fault != nil:
		return r.Fault
	}
	if err := json.Unmarshal(r.Answer, out); err != nil {
		return fmt.Errorf("the answer to %s: %w", kind, err)
	}
	return nil
}

// breakOff makes the channel's reads and writes fail when ctx ends. The returned function undoes that.
func (p *Place) breakOff(ctx context.Context) (undo func()) {
	broken := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { broken <- p.channel.SetDeadline(time.Unix(1, 0)) })
	return func() {
		if !stop() {
			<-broken
			_ = p.channel.SetDeadline(time.Time{}) // fails on a closed channel only
		}
	}
}

// why explains a channel that broke during a call, and makes sure that the child ends.
func (p *Place) why(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), p.kill())
	}
	select {
	case <-p.process.Done(): // it was the child that ended
		return died(p.process.Wait(), string(p.said.text))
	case <-time.After(endLimit):
	}
	return errors.Join(&DeadError{Err: errors.New("it closed its channel and runs on")}, p.kill())
}

// kill ends the child, which takes everything along.
func (p *Place) kill() error {
	err := p.process.Kill()
	select {
	case <-p.process.Done():
		return err
	case <-time.After(endLimit):
		return errors.Join(err, fmt.Errorf("process %d in the private namespaces did not end within %v of SIGKILL", p.process.Pid(), endLimit))
	}
}

// Close ends the child and all that it made. A call that runs fails. It may be called again.
func (p *Place) Close() error {
	killed := p.kill()
	p.mu.Lock() // after a running call has failed
	defer p.mu.Unlock()
	p.dead = ErrClosed
	if err := p.channel.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return errors.Join(killed, err)
	}
	return killed
}
