// Package progress shows what is being done: one line with a spinner on a terminal, plain lines elsewhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/sys/unix"
)

// Shower shows progress until Stop.
type Shower struct {
	show  func(text string)
	start func()
	stop  func()
}

// New shows on f, as a terminal where it is one.
func New(f *os.File) *Shower {
	// A terminal that does not know its width has no line to redraw.
	if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err != nil || size.Col == 0 {
		return Lines(f)
	}
	return spinner(f)
}

// Lines writes each text as a line with the seconds since the start before it.
func Lines(w io.Writer) *Shower {
	began := time.Now()
	return &Shower{
		show:  func(text string) { fmt.Fprintf(w, "%5.1f s  %s\n", time.Since(began).Seconds(), text) },
		start: func() {},
		stop:  func() {},
	}
}

func spinner(w io.Writer) *Shower {
	began := time.Now()
	var text atomic.Value
	text.Store("")
	var pool *mpb.Progress
	var bar *mpb.Bar
	s := &Shower{
		show: func(t string) { text.Store(t) },
		start: func() {
			pool = mpb.New(mpb.WithOutput(w), mpb.WithRefreshRate(120*time.Millisecond))
			bar = pool.New(0, mpb.SpinnerStyle().PositionLeft(), mpb.BarWidth(2), mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
				return fmt.Sprintf("%3.0f s  %s", time.Since(began).Seconds(), text.Load())
			})))
		},
		stop: func() {
			bar.Abort(true)
			pool.Wait()
		},
	}
	s.start()
	return s
}

// Show replaces what is shown.
func (s *Shower) Show(text string) { s.show(text) }

// Around clears the line of a terminal, lets write print, and shows again.
func (s *Shower) Around(write func()) {
	s.stop()
	write()
	s.start()
}

// Stop clears the line of a terminal; what comes after on the same file starts at its beginning.
func (s *Shower) Stop() { s.stop() }
