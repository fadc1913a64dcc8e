// Package arrivals counts and checks what arrives at the other end of the slaves during a run: how much, of which
// sender, in which order, and when. It knows no socket: frames or datagrams in, a result.Wire out.
package arrivals

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"bondrepro/internal/stamp"
	"bondrepro/scenarios"
)

const (
	// seriesEvery is the distance of the points of a line's series.
	seriesEvery = int64(10 * time.Millisecond)
	// seqMax bounds the memory a damaged sequence number can take: 2^30 numbers are 128 MB and hours of sending.
	seqMax = 1 << 30
	// sightingsMost bounds the list of foreign frames of one kind on one line.
	sightingsMost = 64
	// silencesMost is how many of the longest silences are kept.
	silencesMost = 32
	// Damaged is the kind of frames whose header is ours but names a sender or a number that can't be.
	Damaged stamp.Kind = "damaged"
)

// Run is what the lines of one run share. Times are in ns on the clock of whoever calls.
type Run struct {
	number  uint32
	vlan    int
	senders int   // no index is as great
	every   int64 // the distance of the points of a line's series, ns
	groups  map[netip.Addr]int

	mu       sync.Mutex
	first    int64 // when its first frame came on any line; math.MinInt64 before that
	last     int64
	silences [silencesMost]silence // the longest, in no order
	shortest int                   // the index of the shortest of them
	greatest map[flow]uint64       // number + 1
	crossed  []uint64              // by sender
}

// flow is a sender and a group.
type flow struct{ sender, group uint16 }

// NewRun begins to count a run of that number and traffic. Frames of any other run are stale.
func NewRun(number uint32, t scenarios.Traffic) *Run {
	r := &Run{
		number: number, senders: int(t.Senders), every: seriesEvery, groups: groupsOf(t),
		first: math.MinInt64, greatest: map[flow]uint64{}, crossed: make([]uint64, t.Senders),
	}
	return r
}

// groupsOf are the groups' places in the scenario's list.
func groupsOf(t scenarios.Traffic) map[netip.Addr]int {
	groups := make(map[netip.Addr]int, len(t.Groups))
	for i, g := range t.Groups {
		if a, err := netip.ParseAddr(g); err == nil { // else nothing can arrive there
			groups[a] = i
		}
	}
	return groups
}

// InVLAN says that the run's frames have an 802.1Q tag of that id, 0 being none. It is for Frame, and called before the first
// one; whoever calls Datagram has seen to it.
func (r *Run) InVLAN(id int) *Run {
	r.vlan = id
	return r
}

// took notes a frame of the run on whatever line, and returns when the first one came.
func (r *Run) took(f flow, seq uint64, now int64) (first int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == math.MinInt64 {
		r.first, r.last = now, now
	}
	r.silent(silence{r.last, now - r.last})
	r.last = max(r.last, now)
	if g := r.greatest[f]; seq+1 < g {
		r.crossed = reaching(r.crossed, f.sender)
		r.crossed[f.sender]++
	} else {
		r.greatest[f] = seq + 1
	}
	return r.first
}

// silence is a time without a frame of the run on any line.
type silence struct{ from, long int64 }

// silent keeps a silence if it is longer than the shortest of those kept.
func (r *Run) silent(s silence) {
	if s.long <= r.silences[r.shortest].long {
		return
	}
	r.silences[r.shortest] = s
	for i := range r.silences {
		if r.silences[i].long < r.silences[r.shortest].long {
			r.shortest = i
		}
	}
}

// Line counts one line of one run. Its owner locks.
type Line struct {
	run      *Run
	frames   uint64
	bytes    uint64
	ours     uint64
	oursLen  uint64
	stale    uint64
	overflow uint64
	foreign  map[stamp.Kind]uint64
	seen     []sighting
	flows    map[flow]uint64
	senders  []numbers

	at                  []float64 // ms
	cumFrames, cumBytes []uint64
	nextPoint           int64 // ns after the run's first frame
	lastOurs            int64
	first               int64
}

type sighting struct {
	at   int64
	kind stamp.Kind
}

// Line begins to count a line of the run.
func (r *Run) Line() *Line {
	points := int64(10*time.Second) / r.every
	return &Line{
		run: r, foreign: map[stamp.Kind]uint64{}, flows: map[flow]uint64{}, senders: make([]numbers, len(r.crossed)),
		at: make([]float64, 0, points), cumFrames: make([]uint64, 0, points), cumBytes: make([]uint64, 0, points),
	}
}

// Frame counts one Ethernet frame without FCS that came at now, and tells whether it is traffic: a UDP datagram, not
// what hosts say of themselves. A datagram of ours in another VLAN than the run's is foreign, of kind stamp.VLAN.
func (l *Line) Frame(b []byte, now int64) (traffic bool) {
	d, kind := stamp.Find(b)
	traffic = kind == stamp.UDP4 || kind == stamp.UDP6
	if !traffic {
		l.Foreign(kind, len(b), now)
		return false
	}
	if _, ours := stamp.Parse(d.Payload); ours && d.VLAN != l.run.vlan {
		l.Foreign(stamp.VLAN, len(b), now)
		return true
	}
	l.Datagram(d, kind, len(b), now)
	return true
}

// Datagram counts one UDP datagram that came at now in a frame of size bytes.
func (l *Line) Datagram(d stamp.Datagram, kind stamp.Kind, size int, now int64) {
	h, ok := stamp.Parse(d.Payload)
	group, known := l.run.groups[d.To.Addr()]
	switch {
	case !ok:
		l.Foreign(kind, size, now)
		return
	case h.Run == l.run.number && (int(h.Sender) >= l.run.senders || h.Seq >= seqMax || !known):
		l.Foreign(Damaged, size, now)
		return
	}
	l.frames++
	l.bytes += uint64(size)
	if h.Run != l.run.number {
		l.stale++
		return
	}
	l.own(h, flow{h.Sender, uint16(group)}, size, now)
}

// Foreign counts a frame of size bytes that is not of any run.
func (l *Line) Foreign(kind stamp.Kind, size int, now int64) {
	l.frames++
	l.bytes += uint64(size)
	l.foreign[kind]++
	if l.foreign[kind] <= sightingsMost {
		l.seen = append(l.seen, sighting{now, kind})
	}
}

// Overflow counts n datagrams that arrived and that the receiving socket had no room for.
func (l *Line) Overflow(n uint64) { l.overflow += n }

// own counts a frame of this run.
func (l *Line) own(h stamp.Header, f flow, size int, now int64) {
	l.first = l.run.took(f, h.Seq, now)
	l.point(now)
	l.ours++
	l.oursLen += uint64(size)
	l.lastOurs = now
	l.flows[f]++
	l.senders = reaching(l.senders, h.Sender)
	l.senders[h.Sender].add(h.Seq)
}

// reaching is s with an element of that index.
func reaching[T any](s []T, index uint16) []T {
	if n := int(index) + 1 - len(s); n > 0 {
		s = append(s, make([]T, n)...)
	}
	return s
}

// point adds a point to the series when one is due, with the counts as they were before now.
func (l *Line) point(now int64) {
	if since := now - l.first; since >= l.nextPoint {
		l.at = append(l.at, float64(since)/1e6)
		l.cumFrames = append(l.cumFrames, l.ours)
		l.cumBytes = append(l.cumBytes, l.oursLen)
		l.nextPoint = since/l.run.every*l.run.every + l.run.every
	}
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
