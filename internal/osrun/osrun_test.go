package osrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deadline is far longer than anything here takes; it only turns a hang into a failure.
const deadline = 30 * time.Second

func sh(script string) Cmd {
	return Cmd{Path: "sh", Args: []string{"-c", script}, Timeout: deadline}
}

func TestRun(t *testing.T) {
	out, err := Run(t.Context(), sh("echo out; echo err >&2"))
	if err != nil {
		t.Fatal(err)
	}
	if string(out.Stdout) != "out\n" || string(out.Stderr) != "err\n" {
		t.Errorf("got %q and %q", out.Stdout, out.Stderr)
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name   string
		cmd    Cmd
		code   int
		signal syscall.Signal
		is     error
		text   string
	}{
		{"exit code", sh("echo why >&2; exit 7"), 7, 0, nil, "sh -c: exit code 7; it wrote last:\nwhy"},
		{"stdout when stderr is silent", sh("echo why; exit 7"), 7, 0, nil, "it wrote last:\nwhy"},
		{"signal", sh("kill -ABRT $$"), -1, syscall.SIGABRT, nil, "ended by signal 6 (aborted)"},
		{"timeout", Cmd{Path: "sleep", Args: []string{"60"}, Timeout: 50 * time.Millisecond}, -1, syscall.SIGKILL,
			context.DeadlineExceeded, "sleep 60: killed: it did not end within 50ms"},
		{"no such program", Cmd{Path: "no-such-program"}, -1, 0, ErrNotFound, "not found"},
		{"too much output", sh("exec cat /dev/zero"), -1, syscall.SIGPIPE, nil, "it wrote more than 64 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Run(t.Context(), tt.cmd)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if e.ExitCode != tt.code || e.Signal != tt.signal {
				t.Errorf("exit code %d, signal %d; want %d, %d", e.ExitCode, e.Signal, tt.code, tt.signal)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
			if !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %q, want it to contain %q", err, tt.text)
			}
		})
	}
}

func TestCancelKillsTheGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	cmd := sh("sleep 60 & echo $!; wait")
	cmd.Stdout = w
	p, err := Start(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	child := readPid(t, r)
	cancel()
	if err := p.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	waitGone(t, child)
}

func TestExitKillsWhatIsLeftOfTheGroup(t *testing.T) {
	out, err := Run(t.Context(), sh("sleep 60 >/dev/null 2>&1 & echo $!"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out.Stdout)))
	if err != nil {
		t.Fatal(err)
	}
	waitGone(t, pid)
}

func TestSignalAndExtraFiles(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := sh("trap 'exit 3' TERM; echo ready >&3; while :; do sleep 0.05; done")
	cmd.ExtraFiles = []*os.File{w}
	p, err := Start(t.Context(), cmd)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if line := make([]byte, 6); readFull(t, r, line) != "ready\n" {
		t.Fatalf("descriptor 3 gave %q", line)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	var e *Error
	if err := p.Wait(); !errors.As(err, &e) || (e.ExitCode != 3 && e.Signal != syscall.SIGTERM) {
		t.Errorf("got %v", err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("killing an ended process: %v", err)
	}
}

// A process lives on when the goroutine and the thread that called Start end.
func TestOutlivesTheThreadThatCalledStart(t *testing.T) {
	stdin, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	var out bytes.Buffer
	started := make(chan *Process)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		p, err := Start(context.Background(), Cmd{Path: "cat", Stdin: stdin, Stdout: &out, Timeout: deadline})
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	p := <-started
	if p == nil {
		return
	}
	time.Sleep(100 * time.Millisecond) // for the thread to end: too short can only hide a fault
	fmt.Fprint(write, "still here")
	write.Close()
	if err := p.Wait(); err != nil || out.String() != "still here" {
		t.Errorf("got %v and %q", err, out.String())
	}
}

// TestDiesWithItsParent runs this test binary as a parent that is killed.
func TestDiesWithItsParent(t *testing.T) {
	if os.Getenv("OSRUN_PARENT") != "" {
		p, err := Start(context.Background(), Cmd{Path: "sleep", Args: []string{"60"}})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(p.Pid())
		select {}
	}
	r, w := io.Pipe()
	p, err := Start(t.Context(), Cmd{
		Path: os.Args[0], Args: []string{"-test.run=^TestDiesWithItsParent$"},
		Env: append(os.Environ(), "OSRUN_PARENT=1"), Stdout: w, Timeout: deadline,
	})
	if err != nil {
		t.Fatal(err)
	}
	child := readPid(t, r)
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, child)
}

func TestLook(t *testing.T) {
	if path, err := Look("sh"); err != nil || !strings.HasSuffix(path, "/sh") {
		t.Errorf("got %q, %v", path, err)
	}
	if _, err := Look("no-such-program"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestTail(t *testing.T) {
	var tl tail
	for i := range 2000 {
		tl.add(fmt.Appendf(nil, "line %d\x1b\r\n", i))
	}
	got := tl.String()
	if len(got) > tailBytes || !strings.HasSuffix(got, "line 1998\nline 1999") {
		t.Errorf("%d bytes, ending %q", len(got), got[len(got)-20:])
	}
	tl.add(bytes.Repeat([]byte("x"), 3*tailBytes))
	if tl.String() != strings.Repeat("x", tailBytes) {
		t.Error("one long write does not replace the tail")
	}
}

func readPid(t *testing.T, r io.Reader) int {
	t.Helper()
	var pid int
	if _, err := fmt.Fscanln(r, &pid); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, r)
	return pid
}

func readFull(t *testing.T, r io.Reader, b []byte) string {
	t.Helper()
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// waitGone waits until pid no longer runs. A zombie counts: who reaps it is not ours.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}
