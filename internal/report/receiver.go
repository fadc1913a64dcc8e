package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bondrepro/reproducer/result"
)

// Listening says where a receiver listens, and for what.
func Listening(r result.Receiver) string {
	var at []string
	for _, x := range r.Interfaces {
		at = append(at, because(x.Name, x.Driver))
	}
	groups := r.Groups[0]
	if more := len(r.Groups) - 1; more > 0 {
		groups += " and " + result.Plural(more, "more group")
	}
	return fmt.Sprintf("listening on %s for %s, port %d", strings.Join(at, ", "), groups, r.Port)
}

// Receiving is the run that was heard last, in one line, with the rate of its last second; empty before the first.
func Receiving(runs []result.ReceivedRun) string {
	if len(runs) == 0 {
		return ""
	}
	r := slices.MaxFunc(runs, func(a, b result.ReceivedRun) int { return cmp.Compare(a.Last.UnixNano(), b.Last.UnixNano()) })
	t := totalOf(r)
	text := fmt.Sprintf("run %d: %d received, %d lost, %s", r.Run, t.unique, t.gaps, result.BitRate(rateOf(r, lastSecond)))
	if t.overflow > 0 {
		text += fmt.Sprintf(", %d overflowed", t.overflow)
	}
	return text
}

// Received is a receiver's account for people: where it listened, and each run by sender.
func Received(f result.ReceiverFile) string {
	var b strings.Builder
	wrap(&b, "", strings.Replace(Listening(f.Receiver), "listening", "listened", 1)+"; kernel "+f.Receiver.Kernel)
	for _, w := range f.Warnings {
		wrap(&b, "  "+w.Code+": ", w.Text)
	}
	if f.Forgotten > 0 {
		wrap(&b, "", fmt.Sprintf("(the latest %d runs are kept; forgotten: %s)", result.ReceivedRuns, result.Plural(int(f.Forgotten), "run")))
	}
	if len(f.Runs) == 0 {
		b.WriteString("\nnothing of ours came\n")
	}
	for _, r := range f.Runs {
		received(&b, f.Receiver, r)
	}
	return b.String()
}

// received writes one run.
func received(b *strings.Builder, at result.Receiver, r result.ReceivedRun) {
	const clock = "15:04:05.000"
	fmt.Fprintf(b, "\nrun %d, %s to %s UTC\n", r.Run, r.First.UTC().Format(time.DateOnly+" "+clock), r.Last.UTC().Format(clock))
	total, rate := totalOf(r), rateOf(r, wholeRun)
	cells := [][]string{{"  sender", "received", "lost", "duplicates", "reordered", "copies", "rate"}}
	for _, s := range r.Wire.Senders {
		if s.Beyond == 0 {
			continue // never heard of
		}
		share := float64(framesOf(s)) / float64(total.frames)
		cells = append(cells, line("  "+strconv.Itoa(s.Index), s.Unique, gaps(s), s.Duplicates, s.Reordered, s.Copies, rate*share))
	}
	if len(cells) > 2 {
		cells = append(cells, line("  all", total.unique, total.gaps, total.duplicates, total.reordered, total.copies, rate))
	}
	if len(at.Interfaces) == 1 { // then nothing comes on a second one
		for i := range cells {
			cells[i] = slices.Delete(cells[i], 5, 6)
		}
	}
	align(b, cells)
	for i, l := range r.Wire.Slaves {
		if text := lineText(l); text != "" {
			wrap(b, "  "+at.Interfaces[i].Name+": ", text)
		}
	}
}

func line(name string, received, lost, duplicates, reordered, copies uint64, rate float64) []string {
	cells := []string{name}
	for _, n := range []uint64{received, lost, duplicates, reordered, copies} {
		cells = append(cells, strconv.FormatUint(n, 10))
	}
	return append(cells, result.BitRate(rate))
}

// lineText is what came on an interface beside the run's own frames; "" when nothing did.
func lineText(l result.WireSlave) string {
	var parts []string
	if l.Overflow > 0 {
		parts = append(parts, fmt.Sprintf("%s overflowed the receive buffer", result.Plural(int(l.Overflow), "datagram")))
	}
	for _, kind := range sortedKeys(l.Foreign) {
		parts = append(parts, fmt.Sprintf("%s %d", kind, l.Foreign[kind]))
	}
	return strings.Join(parts, ", ")
}

// total is a run's account over all senders.
type total struct {
	unique, gaps, duplicates, reordered, copies, frames, overflow uint64
}

func totalOf(r result.ReceivedRun) (t total) {
	for _, s := range r.Wire.Senders {
		t.unique += s.Unique
		t.gaps += gaps(s)
		t.duplicates += s.Duplicates
		t.reordered += s.Reordered
		t.copies += s.Copies
		t.frames += framesOf(s)
	}
	for _, l := range r.Wire.Slaves {
		t.overflow += l.Overflow
	}
	return t
}

// gaps are the numbers below the greatest that never came. What was lost after that only the sender knows.
func gaps(s result.WireSender) uint64 { return s.Beyond - s.Unique }

func framesOf(s result.WireSender) uint64 { return s.Unique + s.Duplicates + s.Copies }

// How much of a run a rate is taken over, ms.
const (
	lastSecond = 1000
	wholeRun   = 0
)

// rateOf is the rate over the last ms of a run, or over all of it, bits/s, over all interfaces.
func rateOf(r result.ReceivedRun, last float64) (rate float64) {
	for _, l := range r.Wire.Slaves {
		rate += lineRate(l, last)
	}
	return rate
}

// lineRate is one interface's rate, from the latest point that is as old, or from the first.
func lineRate(l result.WireSlave, last float64) float64 {
	end := min(len(l.AtMS), len(l.CumBytes)) - 1
	from := 0
	for i := 0; last > 0 && i < end; i++ {
		if l.AtMS[end]-l.AtMS[i] >= last {
			from = i
		}
	}
	if end < 1 || l.AtMS[end] <= l.AtMS[from] {
		return 0
	}
	return float64(l.CumBytes[end]-l.CumBytes[from]) * 8000 / (l.AtMS[end] - l.AtMS[from])
}
