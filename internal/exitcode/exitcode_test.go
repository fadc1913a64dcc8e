package exitcode_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/exitcode"
)

const childEnv = "EXITCODE_TEST_CHILD"

// TestMain is the child of the tests below when childEnv is set: a command in small.
func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "panic":
		exitcode.Guard()
		panic("on purpose")
	case "shielded":
		exitcode.Guard()
		ctx, stop := exitcode.Signals(context.Background())
		defer stop()
		release := exitcode.Shield()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("once")
		time.Sleep(300 * time.Millisecond) // a second signal comes
		release()
		fmt.Println("put back")
		os.Exit(exitcode.Of(context.Cause(ctx)))
	case "pipe":
		exitcode.Guard()
		for range 100 {
			if _, err := fmt.Println(strings.Repeat("x", 1<<16)); err != nil {
				os.Exit(exitcode.Usage)
			}
		}
	case "wait":
		exitcode.Guard()
		ctx, stop := exitcode.Signals(context.Background())
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		os.Exit(exitcode.Of(context.Cause(ctx)))
	}
	os.Exit(m.Run())
}

func child(t *testing.T, what string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	return cmd
}

func TestPanicEndsInAbort(t *testing.T) {
	out, err := child(t, "panic").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("err = %v, want an exit error", err)
	}
	status := exit.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != syscall.SIGABRT {
		t.Errorf("ended by %v, want SIGABRT (134 to a shell)", exit)
	}
	if !strings.Contains(string(out), "on purpose") {
		t.Errorf("the panic's message is lost: %q", out)
	}
}

func TestSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{
		syscall.SIGINT:  exitcode.Interrupted,
		syscall.SIGTERM: exitcode.Terminated,
		syscall.SIGHUP:  exitcode.Terminated,
	} {
		cmd := child(t, "wait")
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%v: exit code %d, want %d", signal, got, want)
		}
	}
}

// Whoever has something to put back is not killed by a second signal.
func TestShield(t *testing.T) {
	cmd := child(t, "shielded")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if lines.Text() != "put back" {
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != exitcode.Terminated || !slices.Contains(said, "put back") {
		t.Errorf("exit code %d, said %v", got, said)
	}
}

// A reader that goes away, as head does, does not kill.
func TestPipe(t *testing.T) {
	cmd := child(t, "pipe")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != exitcode.Usage {
		t.Errorf("ended with %v", cmd.ProcessState)
	}
}

func TestOf(t *testing.T) {
	childFailed := exec.Command("false").Run()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitcode.Good},
		{errors.New("no such device"), exitcode.Usage},
		{&exitcode.Error{Code: exitcode.CannotTell, Err: errors.New("no answer")}, exitcode.CannotTell},
		{fmt.Errorf("run: %w", &exitcode.Error{Code: exitcode.Bad, Err: errors.New("bad")}), exitcode.Bad},
		{fmt.Errorf("poll: %w", &exitcode.Stopped{Signal: syscall.SIGTERM}), exitcode.Terminated},
		{fmt.Errorf("child: %w", childFailed), exitcode.Usage},
		{errors.Join(&exitcode.Stopped{Signal: syscall.SIGINT}, &exitcode.Error{Code: exitcode.Usage, Err: errors.New("not put back")}), exitcode.Usage},
	} {
		if got := exitcode.Of(c.err); got != c.want {
			t.Errorf("Of(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}
