package traffic

import "bondrepro/scenarios"

// burst is a schedule that all senders of a run share: so many messages from the start, then nothing until a whole
// number of periods after it. A burst that outlasts its period is followed by the next start there is, so that those
// that begin a burst begin it together. The zero burst sets no limit.
type burst struct {
	size   int   // messages
	period int64 // ns
	start  int64 // CLOCK_MONOTONIC, ns
	due    int64 // when the burst under way began, or the next one begins
	left   int   // messages of it
}

// newBurst counts packets in messages of so many segments (1 without GSO).
func newBurst(b scenarios.Burst, segments int, start int64) burst {
	if b.Packets == 0 {
		return burst{}
	}
	size := b.Packets / segments
	return burst{size: size, period: int64(b.Every), start: start, due: start, left: size}
}

// next is when the next message is due, in ns of CLOCK_MONOTONIC; a time that has passed means now.
func (b *burst) next(now int64) int64 {
	if b.size == 0 {
		return now
	}
	if b.left == 0 {
		b.due = b.start + ((now-b.start)/b.period+1)*b.period
		b.left = b.size
	}
	return b.due
}

// room is how many of k messages may be sent now.
func (b *burst) room(k int) int {
	if b.size == 0 {
		return k
	}
	return min(k, b.left)
}

// sent moves the schedule on by n messages.
func (b *burst) sent(n int) {
	if b.size > 0 {
		b.left -= n
	}
}
