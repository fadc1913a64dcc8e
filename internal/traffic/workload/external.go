package workload

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/internal/osrun"
)

const (
	serverTimeout = 10 * time.Second // from its start until it listens
	toolExtra     = 30 * time.Second // what a client may take beyond its duration: connecting, cleaning up
	pollEvery     = 5 * time.Millisecond
)

// Tool is an external tool whose server listens. Close it.
type Tool struct {
	tool    tool
	spec    Spec
	at      netip.AddrPort
	process *osrun.Process
}

// ListenTool starts the server of iperf, iperf3, sockperf or tbench in the network namespace of the calling thread, which
// must be locked to its goroutine where it is not the process's, and waits until it listens. The Spec's Kind may be
// empty. What the tool can't do is one sentence. The server ends with Close, or with ctx.
func ListenTool(ctx context.Context, name string, spec Spec, address netip.Addr) (*Tool, error) {
	t, err := findTool(name, spec)
	if err != nil {
		return nil, err
	}
	for _, program := range []string{t.server, t.client} {
		if _, err := osrun.Look(program); err != nil {
			return nil, fmt.Errorf("%s is not installed; install Debian's package %s: %w", program, t.pkg, err)
		}
	}
	spec.Kind = t.kind
	s := &Tool{tool: t, spec: spec.withDefaults()}
	p := t.port
	if p == 0 {
		if p, err = freePort(address, s.spec.datagrams()); err != nil {
			return nil, err
		}
	}
	s.at = netip.AddrPortFrom(address, uint16(p))
	if err := s.listen(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Tool) listen(ctx context.Context) error {
	c, done, err := here(s.tool.server, s.tool.listen(s.spec, s.at), s.spec.ServerCPUs)
	if err != nil {
		return err
	}
	defer done()
	if s.process, err = osrun.Start(ctx, c); err != nil {
		return err
	}
	for end := time.Now().Add(serverTimeout); ; {
		if listens(s.process.Pid(), s.at.Port()) {
			return nil
		}
		select {
		case <-s.process.Done():
			if err := s.process.Wait(); err != nil {
				return err
			}
			return fmt.Errorf("%s ended by itself: %s", s.tool.server, lastLine([]byte(s.process.Tail())))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollEvery):
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not listen on port %d after %v", s.tool.server, s.at.Port(), serverTimeout)
		}
	}
}

// Run runs the client in the network namespace of the calling thread, as ListenTool does the server, and reads its
// figures. The CPU time of each side is not known. iperf3's server serves one run.
func (s *Tool) Run(ctx context.Context) (Outcome, error) {
	c, done, err := here(s.tool.client, s.tool.connect(s.spec, s.at), s.spec.ClientCPUs)
	if err != nil {
		return Outcome{}, err
	}
	defer done()
	c.Timeout = s.spec.Warmup + s.spec.Duration + s.spec.Duration/2 + toolExtra // tbench adds a fifth
	out, err := osrun.Run(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	o, err := s.tool.parse(s.spec, out.Stdout)
	if err != nil {
		if len(out.Stderr) > 0 {
			err = fmt.Errorf("%w: %s", err, lastLine(out.Stderr))
		}
		return Outcome{}, err
	}
	o.Kind, o.Tool, o.Connections = s.tool.kind, s.tool.name, s.spec.Connections
	return o, nil
}

// Close ends the server and waits for its end.
func (s *Tool) Close() error {
	if s.process == nil {
		return nil
	}
	err := s.process.Kill()
	<-s.process.Done()
	return err
}

// here is a command in the calling thread's network namespace, on some CPUs. A child inherits the namespace of the thread
// that forks it, and osrun forks on a thread of its own: nsenter(1) takes it where the caller is. done closes what the
// command needs to start.
func here(program string, args []string, cpus []int) (c osrun.Cmd, done func(), err error) {
	line := append([]string{program}, args...)
	if len(cpus) > 0 {
		line = append([]string{"taskset", "-c", list(cpus)}, line...)
	}
	space, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return c, nil, err
	}
	theirs, err := otherThreads()
	if err != nil {
		space.Close()
		return c, nil, err
	}
	mine, err := space.Stat()
	if err != nil {
		space.Close()
		return c, nil, err
	}
	if !os.SameFile(mine, theirs) {
		c.ExtraFiles = []*os.File{space}
		line = append([]string{"nsenter", "--net=/proc/self/fd/3", "--"}, line...)
	}
	c.Path, c.Args = line[0], line[1:]
	if _, err := osrun.Look(c.Path); err != nil {
		space.Close()
		return c, nil, fmt.Errorf("%s is not installed; install Debian's package util-linux: %w", c.Path, err)
	}
	return c, func() { space.Close() }, nil
}

// otherThreads is the network namespace of a thread that is locked to no goroutine.
func otherThreads() (space os.FileInfo, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		space, err = os.Stat("/proc/thread-self/ns/net")
	}()
	<-done
	return space, err
}

func list(cpus []int) string {
	var s []string
	for _, cpu := range cpus {
		s = append(s, strconv.Itoa(cpu))
	}
	return strings.Join(s, ",")
}

// freePort is a port that nobody has in the calling thread's namespace. Somebody may take it before the server does, who
// then says so.
func freePort(address netip.Addr, datagrams bool) (int, error) {
	typ := unix.SOCK_STREAM
	if datagrams {
		typ = unix.SOCK_DGRAM
	}
	fd, err := bound(address, typ)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	at, err := local(fd)
	return int(at.Port()), err
}

// listens tells whether a process has a socket bound to the port in its own namespace, one that listens where it is
// TCP's. Connecting to it would tell, too, but be counted by servers that serve one client.
func listens(pid int, port uint16) bool {
	for _, table := range []struct{ name, state string }{{"tcp", "0A"}, {"tcp6", "0A"}, {"udp", "07"}, {"udp6", "07"}} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table.name))
		if err != nil {
			continue
		}
		for _, inode := range boundTo(string(text), table.state, port) {
			if has(pid, inode) {
				return true
			}
		}
	}
	return false
}

// boundTo are the inodes of the sockets of a table like /proc/net/tcp that are in a state and have a local port.
func boundTo(table, state string, port uint16) (inodes []string) {
	const localAddress, socketState, inode = 1, 3, 9
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) > inode && f[socketState] == state && strings.HasSuffix(f[localAddress], fmt.Sprintf(":%04X", port)) {
			inodes = append(inodes, f[inode])
		}
	}
	return inodes
}

// has tells whether a process has a socket open.
func has(pid int, inode string) bool {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	entries, err := os.ReadDir(dir)
	if err != nil { // it has ended
		return false
	}
	for _, e := range entries {
		if to, err := os.Readlink(dir + e.Name()); err == nil && to == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}
