package vm

import (
	"math/bits"
	"sync/atomic"
	"time"

	"bondrepro/internal/stamp"
	"bondrepro/reproducer/result"
)

const (
	// seriesEvery is the distance of the points of a line's series.
	seriesEvery = int64(10 * time.Millisecond)
	// seqMax bounds the memory a damaged sequence number can take: 2^30 numbers are 128 MB and hours of sending.
	seqMax = 1 << 30
	// damaged is the kind of frames whose header is ours but names a sender or a number that can't be.
	damaged stamp.Kind = "damaged"
)

// checker counts the frames of one line in one run. Pure; its owner locks.
type checker struct {
	run     uint32
	frames  uint64
	bytes   uint64
	ours    uint64
	oursLen uint64
	stale   uint64
	foreign map[stamp.Kind]uint64
	senders []numbers

	at                  []float64 // ms
	cumFrames, cumBytes []uint64
	nextPoint           int64 // ns after the run's first frame
	lastOurs            int64 // ns since the wire's start
	first               int64
}

func (c *checker) begin(run uint32, senders int) {
	const points = 1000 // 10 s
	*c = checker{
		run: run, foreign: map[stamp.Kind]uint64{}, senders: make([]numbers, senders),
		at: make([]float64, 0, points), cumFrames: make([]uint64, 0, points), cumBytes: make([]uint64, 0, points),
	}
}

// frame counts one frame that was taken at now, and tells whether it is traffic: a UDP datagram, not what hosts
// say of themselves. first is the time of the run's first frame on any line.
func (c *checker) frame(b []byte, now int64, first *atomic.Int64) (traffic bool) {
	c.frames++
	c.bytes += uint64(len(b))
	payload, _, kind := stamp.Payload(b)
	h, ok := stamp.Parse(payload)
	switch {
	case !ok:
		c.foreign[kind]++
	case h.Run != c.run:
		c.stale++
	case int(h.Sender) >= len(c.senders) || h.Seq >= seqMax:
		c.foreign[damaged]++
	default:
		c.own(h, len(b), now, first)
	}
	return kind == stamp.UDP4
}

// own counts a frame of this run.
func (c *checker) own(h stamp.Header, size int, now int64, first *atomic.Int64) {
	if c.first == 0 {
		first.CompareAndSwap(0, now)
		c.first = first.Load()
	}
	c.point(now)
	c.ours++
	c.oursLen += uint64(size)
	c.lastOurs = now
	c.senders[h.Sender].add(h.Seq)
}

// point adds a point to the series when one is due, with the counts as they were before now.
func (c *checker) point(now int64) {
	if since := now - c.first; since >= c.nextPoint {
		c.addPoint(since)
		c.nextPoint = since/seriesEvery*seriesEvery + seriesEvery
	}
}

func (c *checker) addPoint(since int64) {
	c.at = append(c.at, float64(since)/1e6)
	c.cumFrames = append(c.cumFrames, c.ours)
	c.cumBytes = append(c.cumBytes, c.oursLen)
}

// slave is the line's account. The series ends with its last frame.
func (c *checker) slave() result.WireSlave {
	s := result.WireSlave{Frames: c.frames, Bytes: c.bytes, Ours: c.ours, Stale: c.stale}
	if len(c.foreign) > 0 {
		s.Foreign = make(map[string]uint64, len(c.foreign))
		for k, n := range c.foreign {
			s.Foreign[string(k)] = n
		}
	}
	if c.ours > 0 {
		s.AtMS = append(s.AtMS, c.at...)
		s.AtMS = append(s.AtMS, float64(c.lastOurs-c.first)/1e6)
		s.CumFrames = append(append(s.CumFrames, c.cumFrames...), c.ours)
		s.CumBytes = append(append(s.CumBytes, c.cumBytes...), c.oursLen)
	}
	return s
}

// numbers are the sequence numbers of one sender seen on one line.
type numbers struct {
	seen       []uint64 // bitmap
	unique     uint64
	duplicates uint64
	reordered  uint64
	beyond     uint64
}

func (n *numbers) add(seq uint64) {
	word, bit := int(seq/64), uint64(1)<<(seq%64)
	if word >= len(n.seen) {
		const atLeast = 1 << 12 // 32 KB, 262144 numbers
		grown := make([]uint64, max(word+1, 2*len(n.seen), atLeast))
		copy(grown, n.seen)
		n.seen = grown
	}
	if n.seen[word]&bit != 0 {
		n.duplicates++
	} else {
		n.unique++
		n.seen[word] |= bit
	}
	if seq+1 < n.beyond {
		n.reordered++
	}
	n.beyond = max(n.beyond, seq+1)
}

// summarise puts the lines of a run together.
func summarise(lines []*checker) result.Wire {
	var w result.Wire
	for _, c := range lines {
		w.Slaves = append(w.Slaves, c.slave())
	}
	if len(lines) == 0 {
		return w
	}
	for s := range lines[0].senders {
		sum := result.WireSender{Index: s}
		var all []uint64
		var perLine uint64
		for _, c := range lines {
			n := &c.senders[s]
			sum.Duplicates += n.duplicates
			sum.Reordered += n.reordered
			sum.Beyond = max(sum.Beyond, n.beyond)
			perLine += n.unique
			all = union(all, n.seen)
		}
		for _, word := range all {
			sum.Unique += uint64(bits.OnesCount64(word))
		}
		sum.Copies = perLine - sum.Unique
		w.Senders = append(w.Senders, sum)
	}
	return w
}

func union(all, more []uint64) []uint64 {
	if len(more) > len(all) {
		all = append(all, make([]uint64, len(more)-len(all))...)
	}
	for i, word := range more {
		all[i] |= word
	}
	return all
}
