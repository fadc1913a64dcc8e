package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/exitcode"
)

const childEnv = "QDISCSTAT_TEST_MAIN"

// TestMain is the command itself when childEnv is set.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	return cmd
}

// lo has a noqueue root wherever the tests run; one that was never up has no qdisc at all.
func TestCommand(t *testing.T) {
	const head = `qdisc \S+ \S+: dev \S+ `
	const counts = ` Sent \d+ bytes \d+ pkt \(dropped \d+, overlimits \d+ requeues \d+\)\n backlog \S+ \d+p requeues \d+\n`
	const at = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\S+\n`
	for _, c := range []struct {
		args   string
		code   int
		stdout string // a pattern for all of it
		stderr string
	}{
		{"", exitcode.Good, `(` + head + `.*\n` + counts + `)*`, ``},
		{"lo", exitcode.Good, `(qdisc \S+ \S+: dev lo .*\n` + counts + `)*`, ``},
		{"-i 1ms -c 2 lo", exitcode.Good, at + `(qdisc .*\n` + counts + `)*` + at + `(qdisc .*\n` + counts + ` in \d+ms: 0 bytes 0 pkt .*\n)*`, `(qdiscstat: \d+ polls were missed before .*\n)?`},
		{"--help", exitcode.Good, `(?s).*Exit codes: 0 done, 128 .*`, ``},
		{"nosuchdev0", exitcode.Usage, ``, `qdiscstat: find interface "nosuchdev0": no such device\n`},
		{"-i 0s", exitcode.Usage, ``, `qdiscstat: the interval 0s is not greater than 0\n`},
		{"-i 1s -c -1", exitcode.Usage, ``, `qdiscstat: the count -1 is not greater than 0\n`},
		{"-c 3", exitcode.Usage, ``, `qdiscstat: -c needs an interval: give -i too, for example -i 1s\n`},
		{"-i soon", exitcode.Usage, ``, `qdiscstat: invalid argument "soon" .*\n`},
		{"--frob", exitcode.Usage, ``, `qdiscstat: unknown flag: --frob\n`},
	} {
		var stdout, stderr bytes.Buffer
		cmd := command(t, strings.Fields(c.args)...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("qdiscstat %s: exit code %d, want %d", c.args, code, c.code)
		}
		for _, out := range []struct{ name, got, want string }{{"stdout", stdout.String(), c.stdout}, {"stderr", stderr.String(), c.stderr}} {
			if !regexp.MustCompile(`^` + out.want + `$`).MatchString(out.got) {
				t.Errorf("qdiscstat %s: %s\n%s\nwant %s", c.args, out.name, out.got, out.want)
			}
		}
	}
}

func TestJSONLines(t *testing.T) {
	out, err := command(t, "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var q struct {
			Time time.Time
			Kind string
			Dev  string
		}
		if err := json.Unmarshal([]byte(line), &q); err != nil || q.Kind == "" || q.Dev == "" || time.Since(q.Time) > time.Hour {
			t.Errorf("%s: %+v, %v", line, q, err)
		}
	}
}

func TestSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{
		syscall.SIGINT:  exitcode.Interrupted,
		syscall.SIGTERM: exitcode.Terminated,
	} {
		cmd := command(t, "-i", "20ms")
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		lines.Scan() // it polls
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("%v: exit code %d, want %d", signal, code, want)
		}
	}
}
