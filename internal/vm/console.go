package vm

import (
	"io"
	"strings"
	"sync"
	"unicode"

	"bondrepro/internal/guestproto"
)

// tailLines is how many of the console's last lines go into an error.
const tailLines = 15

// lineMost bounds one line, in bytes: a console without a newline is noise.
const lineMost = 1024

// console watches what the guest's kernel prints. Safe for use by several goroutines.
type console struct {
	log io.Writer

	mu         sync.Mutex
	partial    []byte
	last       []string // at most tailLines
	complaints []string // the first ones
	fresh      []string // those not taken yet
	panic      string
	mark       string
	onMark     func(string)
}

// consoleState is what the console has shown so far.
type consoleState struct {
	tail      string // last lines
	panic     string // the line of the kernel's panic
	complaint string // the first line of an oops or BUG
	mark      string // the guest's last mark, without its prefix
}

// complaints are how the kernel starts to report a fault of its own. The last one is netdev_cap_txqueue's
// (include/linux/netdevice.h), of a driver that maps a packet to a queue which is not there.
var complaints = []string{"BUG:", "Oops:", "WARNING:", "general protection fault", "rcu_sched self-detected stall",
	"rcu_preempt self-detected stall", "watchdog:", "selects TX queue"}

// complaintsMost bounds the complaints kept: a kernel that is not well can say the same for ever.
const complaintsMost = 20

const panicMark = "Kernel panic - not syncing"

func newConsole(log io.Writer, onMark func(string)) *console {
	return &console{log: log, onMark: onMark}
}

// Write takes what came from the serial port. It never fails: a full log must not stop the machine.
func (c *console) Write(b []byte) (int, error) {
	_, _ = c.log.Write(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range b {
		if ch == '\n' || len(c.partial) == lineMost {
			c.line(string(c.partial))
			c.partial = c.partial[:0]
		}
		if ch != '\n' {
			c.partial = append(c.partial, ch)
		}
	}
	return len(b), nil
}

// line takes one line in. mu is held.
func (c *console) line(raw string) {
	text := clean(raw)
	if text == "" {
		return
	}
	if len(c.last) == tailLines {
		c.last = c.last[:copy(c.last, c.last[1:])]
	}
	c.last = append(c.last, text)
	if c.panic == "" && strings.Contains(text, panicMark) {
		c.panic = withoutTime(text)
	}
	if _, mark, ok := strings.Cut(text, guestproto.MarkPrefix); ok {
		c.mark = mark
		c.onMark(mark)
	}
	for _, p := range complaints {
		if strings.Contains(text, p) {
			c.complaints = upTo(complaintsMost, c.complaints, withoutTime(text))
			c.fresh = upTo(complaintsMost, c.fresh, withoutTime(text))
			break
		}
	}
}

// complain notes what is to be known of the kernel beside what it said itself.
func (c *console) complain(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.complaints = upTo(complaintsMost, c.complaints, text)
}

// upTo appends the text unless there are most already.
func upTo(most int, list []string, text string) []string {
	if len(list) >= most {
		return list
	}
	return append(list, text)
}

func (c *console) state() consoleState {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.last
	if rest := clean(string(c.partial)); rest != "" {
		lines = append(lines[:len(lines):len(lines)], rest)
	}
	s := consoleState{tail: strings.Join(lines, "\n"), panic: c.panic, mark: c.mark}
	if len(c.complaints) > 0 {
		s.complaint = c.complaints[0]
	}
	return s
}

// said are the kernel's complaints so far.
func (c *console) said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.complaints...)
}

// take are the complaints since the last take.
func (c *console) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := c.fresh
	c.fresh = nil
	return fresh
}

// clean drops what a terminal would act on: SeaBIOS and the kernel write escape sequences.
func clean(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == 0x1b {
			for i++; i < len(s) && !unicode.IsLetter(rune(s[i])); i++ {
			}
			continue
		}
		b.WriteByte(s[i])
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, b.String()))
}

// withoutTime drops the kernel's time stamp.
func withoutTime(line string) string {
	if strings.HasPrefix(line, "[") {
		if _, text, ok := strings.Cut(line, "] "); ok {
			return strings.TrimSpace(text)
		}
	}
	return line
}
