package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/osrun"
	"bondrepro/reproducer/result"
)

// patience is far longer than any case takes; it only turns a hang into a failure.
const patience = 15 * time.Minute

// invocation is one start of the command in a temporary folder of its own, so that what it leaves can be seen.
type invocation struct {
	// tmp is the command's TMPDIR and XDG_RUNTIME_DIR, and marks its processes. Its path is short: Unix sockets
	// have room for 107 bytes.
	tmp            string
	stdout, stderr bytes.Buffer
	process        *osrun.Process
	started        time.Time
}

// start starts the command. more is added to the environment.
func start(t *testing.T, tmp string, more []string, args ...string) *invocation {
	t.Helper()
	in := &invocation{tmp: tmp, started: time.Now()}
	env := append(os.Environ(), "TMPDIR="+tmp, "XDG_RUNTIME_DIR="+tmp)
	p, err := osrun.Start(context.Background(), osrun.Cmd{
		Path: binary, Args: args, Env: append(env, more...), Stdout: &in.stdout, Stderr: &in.stderr, Timeout: patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	in.process = p
	return in
}

// wait returns the exit code, or the negative number of the signal that ended the command.
func (in *invocation) wait(t *testing.T) int {
	t.Helper()
	var failed *osrun.Error
	switch err := in.process.Wait(); {
	case err == nil:
		return 0
	case !errors.As(err, &failed) || failed.Err != nil:
		t.Fatalf("%v", err)
	case failed.Signal != 0:
		return -int(failed.Signal)
	}
	return failed.ExitCode
}

// output is everything the command wrote.
func (in *invocation) output() string { return in.stdout.String() + in.stderr.String() }

// once starts the command, waits for it and checks its exit code and that it left nothing.
func once(t *testing.T, exit int, more []string, args ...string) *invocation {
	t.Helper()
	in := start(t, shortTemp(t), more, args...)
	if code := in.wait(t); code != exit {
		t.Errorf("bondrepro %q ended in %d, want %d; it wrote:\n%s", args, code, exit, in.output())
	}
	nothingLeft(t, in.tmp)
	return in
}

// shortTemp makes a folder with a short path.
func shortTemp(t *testing.T) string {
	t.Helper()
	tmp, err := os.MkdirTemp("", "br")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	return tmp
}

// load decodes a result file.
func load(t *testing.T, data []byte) *result.Result {
	t.Helper()
	var r result.Result
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("decode the result: %v", err)
	}
	return &r
}

// nothingLeft checks that no process, socket or temporary folder of an ended command is left. The processes of a
// killed command are killed by the kernel, which takes a moment.
func nothingLeft(t *testing.T, tmp string) {
	t.Helper()
	if pids := marked(tmp); !eventually(func() bool { pids = marked(tmp); return len(pids) == 0 }) {
		t.Errorf("processes left: %v", pids)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	left, err := filepath.Glob(filepath.Join(tmp, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left: %v (%v)", left, err)
	}
}

// marked lists the running processes that have tmp in their arguments or environment.
func marked(tmp string) []int {
	var pids []int
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		// Both are empty for a zombie, and gone for a process that ended meanwhile.
		args, _ := os.ReadFile(folder + "/cmdline")
		env, _ := os.ReadFile(folder + "/environ")
		if len(args) > 0 && (bytes.Contains(args, []byte(tmp)) || bytes.Contains(env, []byte(tmp))) {
			if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil && pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// eventually polls until ok holds, for at most a minute.
func eventually(ok func() bool) bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}
