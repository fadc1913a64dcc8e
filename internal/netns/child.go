package netns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime/debug"
	"syscall"

	"bondrepro/internal/exitcode"
	"bondrepro/internal/measure"

	"github.com/vishvananda/netlink/nl"
)

const (
	// childVariable and childArgument mark the child.
	childVariable = "BONDREPRO_NETNS"
	childArgument = "netns"
	// channelFD is the child's end of the channel: the first of os/exec's ExtraFiles.
	channelFD = 3
)

// Child tells whether this process is the child of a Start.
func Child() bool {
	return os.Getenv(childVariable) != "" && len(os.Args) == 2 && os.Args[1] == childArgument
}

// Main runs the child and never returns. Call it early in main: the process is in its private namespace already.
func Main() {
	debug.SetTraceback("crash") // a panic must not look like anything else
	c := &child{}
	if err := c.run(); err != nil {
		c.end(err)
	}
	os.Exit(ended)
}

// ended is the child's exit code: it bears no verdict, whoever started it.
const ended = exitcode.Usage

// child is the process in the namespaces.
type child struct {
	pairs []pair
	far   *far
	ends  []int // ifindex of each pair's far end
}

// end ends the process, and with it all that it made; the parent reports what is written here.
func (c *child) end(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(ended)
}

// run does the parent's calls until the channel ends.
func (c *child) run() error {
	if err := os.Unsetenv(childVariable); err != nil {
		return err
	}
	nl.EnableErrorMessageReporting = true // the kernel's own text beside the errno
	file := os.NewFile(channelFD, "channel")
	channel, err := net.FileConn(file)
	if err != nil {
		return fmt.Errorf("%s is set, but descriptor %d is no socket: it is for processes that bondrepro starts itself: %w", childVariable, channelFD, err)
	}
	if err := file.Close(); err != nil {
		return err
	}
	calls := make(chan request)
	go func() {
		in := json.NewDecoder(channel)
		for {
			var r request
			if in.Decode(&r) != nil {
				os.Exit(ended) // the parent closed the place or is gone: also in the middle of a call
			}
			calls <- r
		}
	}()
	out := json.NewEncoder(channel)
	for r := range calls {
		if err := out.Encode(c.do(r)); err != nil {
			return fmt.Errorf("answer to %s: %w", r.Kind, err)
		}
	}
	return nil
}

func (c *child) do(r request) response {
	var reply measure.Reply
	var err error
	switch r.Kind {
	case kindSetup:
		reply, err = answer(c.setup(r.Body))
	case measure.KindMeasure:
		var job measure.Job
		if err = json.Unmarshal(r.Body, &job); err != nil {
			break
		}
		rec, failure := c.measure(context.Background(), job)
		if failure != nil {
			reply.Fault = measure.AsFault(failure)
			break
		}
		reply, err = answer(rec, nil)
	case measure.KindProbe:
		if failure := c.tryReceivers(r.Body); failure != nil {
			reply.Fault = measure.AsFault(failure)
			break
		}
		reply, err = measure.Serve(context.Background(), r.Kind, r.Body)
	default:
		reply, err = measure.Serve(context.Background(), r.Kind, r.Body)
	}
	if err != nil {
		return response{Error: fmt.Sprintf("%s: %v", r.Kind, err)}
	}
	return response{Reply: reply}
}

func answer(v any, err error) (measure.Reply, error) {
	if err != nil {
		return measure.Reply{}, err
	}
	raw, err := json.Marshal(v)
	return measure.Reply{Answer: raw}, err
}

// setup makes the place.
func (c *child) setup(body json.RawMessage) (f facts, err error) {
	var config Config
	if err := json.Unmarshal(body, &config); err != nil {
		return f, err
	}
	if f, err = c.build(config); err != nil {
		err = fmt.Errorf("%w%s", err, advice(err))
	}
	return f, err
}

func (c *child) build(config Config) (f facts, err error) {
	if err := loopbackUp(); err != nil {
		return f, err
	}
	if err := silenceIPv6(); err != nil {
		if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			return f, err
		}
		f.Notes = append(f.Notes, fmt.Sprintf("IPv6 can't be turned off here (%v): what it sends is counted as foreign frames", err))
	}
	if c.far, err = newFar(); err != nil {
		return f, err
	}
	c.pairs = config.pairs()
	for _, p := range c.pairs {
		if err := addVeth(p, max(1, config.Queues), c.far); err != nil {
			return f, err
		}
	}
	if c.ends, err = c.far.up(c.pairs); err != nil {
		return f, err
	}
	n := config.Slaves
	for i := n; i < len(c.ends); i++ {
		if err := c.far.cable(c.ends[i-n], c.ends[i], c.end); err != nil {
			return f, err
		}
	}
	f.Slaves, f.Partner = macs(c.pairs[:n]), macs(c.pairs[n:])
	return f, nil
}
