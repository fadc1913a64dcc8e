package vm

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

const bootText = "\x1b[2J\x1b[1;1HSeaBIOS (version 1.16)\r\n" +
	"[    1.1] bondrepro: userspace reached\r\n[    1.2] bondrepro: loading module bonding\r\n"

func show(t *testing.T, text string) consoleState {
	t.Helper()
	c := newConsole(io.Discard, func(string) {})
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return c.state()
}

func TestConsoleKeepsItsEnd(t *testing.T) {
	var b strings.Builder
	b.WriteString(bootText)
	for i := range 100 {
		fmt.Fprintf(&b, "[    2.%03d] line %d\n", i, i)
	}
	b.WriteString("no newline yet")
	s := show(t, b.String())
	lines := strings.Split(s.tail, "\n")
	if len(lines) != tailLines+1 || lines[0] != "[    2.085] line 85" || lines[tailLines] != "no newline yet" {
		t.Errorf("tail:\n%s", s.tail)
	}
	if s.mark != "loading module bonding" || s.panic != "" || s.complaint != "" {
		t.Errorf("state %+v", s)
	}
}

func TestConsoleDropsTerminalSequences(t *testing.T) {
	if s := show(t, "\x1b[2J\x1b[1;1HSeaBIOS\x07 (version\t1)\r\n"); s.tail != "SeaBIOS (version 1)" {
		t.Errorf("tail %q", s.tail)
	}
}

func TestConsoleWithoutNewlinesIsBounded(t *testing.T) {
	if s := show(t, strings.Repeat("x", 1<<20)); len(s.tail) > (tailLines+1)*(lineMost+1) {
		t.Errorf("tail of %d bytes", len(s.tail))
	}
}

// How QEMU ended and what the console shows tell whose fault it was.
func TestEnded(t *testing.T) {
	const initDied = "[    3.0] Kernel panic - not syncing: Attempted to kill init! exitcode="
	tests := []struct {
		name    string
		exit    error
		wrote   string // by QEMU
		console string
		is      any
		text    string
	}{
		{"killed", errors.New("ended by signal 9 (killed)"), "", bootText, new(*QEMUError), "QEMU failed: ended by signal 9"},
		{"killed softly", nil, "warning\nqemu: terminating on signal 15 from pid 7 (x)\n", bootText, new(*QEMUError), "QEMU failed: qemu: terminating on signal 15"},
		{"panic while loading", nil, "", bootText + "[    2.0] Kernel panic - not syncing: Fatal exception\n", new(*KernelError),
			"panicked (Kernel panic - not syncing: Fatal exception) while it loaded module bonding"},
		{"panic later", nil, "", bootText + "bondrepro: modules loaded\n[    2.0] Kernel panic - not syncing: Fatal exception\n", new(*KernelError),
			"panicked (Kernel panic - not syncing: Fatal exception); the console"},
		{"oops and reset", nil, "", "[    2.0] Oops: 0000 [#1] SMP\n", new(*KernelError), "reset the machine after it said: Oops: 0000"},
		{"silent reset", nil, "", "", new(*KernelError), "reset the machine without a word (the console is empty)"},
		{"our exit 1", nil, "", initDied + "0x00000100\n", new(*GuestError), "our program in the guest died"},
		{"our abort", nil, "", initDied + "0x00000086\n", new(*GuestError), "our program in the guest died"},
		{"the kernel lacks what we need", nil, "", initDied + "0x00000300\n", new(*KernelError), "panicked"},
		{"killed by the kernel", nil, "", initDied + "0x0000000b\n", new(*KernelError), "panicked"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := ended(tt.exit, tt.wrote, show(t, tt.console))
			if !errors.As(err, tt.is) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %T: %v", err, err)
			}
		})
	}
}

func TestNoHello(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "reached no userspace in 5s",
		bootText:                                 "hung: it did not finish within 5s while it loaded module bonding",
		bootText + "bondrepro: modules loaded\n": "hung: no word from the guest's program within 5s",
		"[ 1.0] Kernel panic - not syncing: No init found.": "reached no userspace in 5s",
		"[ 1.0] Kernel panic - not syncing: VFS\n":          "panicked (Kernel panic - not syncing: VFS)",
	} {
		if err := noHello(5*time.Second, show(t, text)); !strings.Contains(err.Error(), want) {
			t.Errorf("after %q: %v, want %q", text, err, want)
		}
	}
}

func TestComplaintsAreTakenOnceAndBounded(t *testing.T) {
	c := newConsole(io.Discard, func(string) {})
	write := func(text string) {
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("[    3.0] WARNING: CPU: 0 PID: 1 at net/core/dev.c:1\n[    3.1] all is well\n")
	if got := c.take(); len(got) != 1 || got[0] != "WARNING: CPU: 0 PID: 1 at net/core/dev.c:1" {
		t.Errorf("took %q", got)
	}
	for i := range 2 * complaintsMost {
		write(fmt.Sprintf("[    4.0] eth0 selects TX queue %d, but real number of TX queues is 4\n", 16+i))
	}
	if got := c.take(); len(got) != complaintsMost || !strings.HasPrefix(got[0], "eth0 selects TX queue 16") {
		t.Errorf("took %d complaints: %q", len(got), got)
	}
	if got := c.take(); len(got) != 0 {
		t.Errorf("took %q again", got)
	}
	if got := c.said(); len(got) != complaintsMost || !strings.HasPrefix(got[0], "WARNING") {
		t.Errorf("%d complaints in all: %q", len(got), got)
	}
}
