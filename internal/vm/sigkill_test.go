package vm_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/osrun"
	"bondrepro/internal/vm"
)

// bootAndWait in the environment makes the test binary boot a guest, print QEMU's pid, and wait to be killed.
const bootAndWait = "BONDREPRO_TEST_BOOT_AND_WAIT"

func bootThenWait() int {
	c, err := debian(context.Background())
	if err == nil {
		var m *vm.Machine
		if m, err = vm.Start(context.Background(), c); err == nil {
			fmt.Println(m.Process().Pid())
			select {}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// SIGKILL of this program takes QEMU along, and nothing is left in the folder for temporary files.
func TestSIGKILLLeavesNothing(t *testing.T) {
	config(t, nil)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	r, w := io.Pipe()
	p, err := osrun.Start(t.Context(), osrun.Cmd{
		Path: self, Env: append(os.Environ(), bootAndWait+"=1", "TMPDIR="+tmp), Stdout: w, Timeout: callLimit,
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-p.Done()
		w.CloseWithError(fmt.Errorf("it ended: %s", p.Tail()))
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	qemu, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	// The process alone, not its group: QEMU has a group of its own anyway.
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	gone := time.Now().Add(callLimit)
	for alive(qemu) {
		if time.Now().After(gone) {
			t.Fatalf("QEMU (process %d) outlived its parent", qemu)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if left, err := filepath.Glob(tmp + "/*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// alive tells whether a process runs; a zombie does not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := string(b[strings.LastIndexByte(string(b), ')')+1:])
	return !strings.HasPrefix(strings.TrimSpace(state), "Z")
}
