package arrivals

import (
	"encoding/binary"
	"testing"
	"time"

	"bondrepro/internal/stamp"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// datagram is an Ethernet frame with a payload of ours, total bytes long.
func datagram(run uint32, sender uint16, seq uint64, total int) []byte {
	b := make([]byte, total)
	copy(b, []byte{0x01, 0x00, 0x5e, 0x42, 0x01, 0x01, 0x52, 0x54, 0x00, 0xb0, 0x4d, 0x01, 0x08, 0x00})
	ip := b[14:]
	ip[0] = 0x45
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	ip[9] = 17
	copy(ip[16:], []byte{239, 66, 1, 1})
	udp := ip[20:]
	binary.BigEndian.PutUint16(udp[2:], 6000)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	stamp.Put(udp[8:], stamp.Header{Run: run, Sender: sender, Seq: seq})
	return b
}

// begin is a run with the groups 239.66.1.1 and 239.66.1.2.
func begin(number uint32, senders int) *Run {
	return NewRun(number, scenarios.Traffic{Senders: scenarios.Senders(senders), Groups: scenarios.Groups{"239.66.1.1", "239.66.1.2"}})
}

func TestCounts(t *testing.T) {
	arp := append(make([]byte, 12), 0x08, 0x06, 0, 1)
	lacp := append(make([]byte, 12), 0x88, 0x09, 1)
	run := begin(7, 2)
	c := run.Line()
	for i, f := range [][]byte{
		datagram(7, 0, 0, 100),
		datagram(7, 0, 2, 100),
		datagram(7, 0, 1, 100), // late
		datagram(7, 0, 2, 100), // again
		datagram(7, 1, 5, 200),
		datagram(6, 0, 0, 100),    // of an earlier run
		datagram(7, 2, 0, 100),    // there is no sender 2
		datagram(7, 0, 1<<60, 90), // nobody gets that far
		arp, arp, lacp,
	} {
		c.Frame(f, int64(1000+i))
	}
	w := run.Summary([]*Line{c})
	s := w.Slaves[0]
	if s.Frames != 11 || s.Ours != 5 || s.Stale != 1 || s.Bytes != 400+200+100+100+90+16+16+15 {
		t.Errorf("frames %d, bytes %d, ours %d, stale %d", s.Frames, s.Bytes, s.Ours, s.Stale)
	}
	for kind, want := range map[string]uint64{"arp": 2, "lacp": 1, "damaged": 2} {
		if s.Foreign[kind] != want {
			t.Errorf("%d foreign frames of kind %s, want %d", s.Foreign[kind], kind, want)
		}
	}
	if got := w.Senders[0]; got.Unique != 3 || got.Duplicates != 1 || got.Reordered != 1 || got.Beyond != 3 || got.Copies != 0 {
		t.Errorf("sender 0: %+v", got)
	}
	if got := w.Senders[1]; got.Unique != 1 || got.Beyond != 6 || got.Index != 1 {
		t.Errorf("sender 1: %+v", got)
	}
}

// inVLAN puts an 802.1Q tag into a frame.
func inVLAN(id byte, frame []byte) []byte {
	return append(append(append([]byte{}, frame[:12]...), 0x81, 0x00, 0x00, id), frame[12:]...)
}

// A frame of ours counts as such in the run's VLAN only; other frames are what they carry, in whatever VLAN.
func TestVLAN(t *testing.T) {
	arp := append(make([]byte, 12), 0x08, 0x06, 0, 1)
	notOurs := datagram(7, 0, 0, 100)
	notOurs[14+20+8]++ // the header's first byte
	for _, c := range []struct {
		vlan  int
		frame []byte
		want  string // a kind; empty: ours
	}{
		{0, datagram(7, 0, 0, 100), ""},
		{0, inVLAN(0, datagram(7, 0, 0, 100)), ""}, // a priority, in no VLAN
		{0, inVLAN(100, datagram(7, 0, 0, 100)), "vlan"},
		{100, inVLAN(100, datagram(7, 0, 0, 100)), ""},
		{100, datagram(7, 0, 0, 100), "vlan"},
		{100, inVLAN(101, datagram(7, 0, 0, 100)), "vlan"},
		{100, inVLAN(100, inVLAN(100, datagram(7, 0, 0, 100))), "vlan"},
		{100, inVLAN(100, notOurs), "udp4"},
		{100, notOurs, "udp4"},
		{100, inVLAN(100, arp), "arp"},
		{100, arp, "arp"},
	} {
		run := begin(7, 1).InVLAN(c.vlan)
		l := run.Line()
		traffic := l.Frame(c.frame, 1)
		s := run.Summary([]*Line{l}).Slaves[0]
		if s.Frames != 1 || s.Bytes != uint64(len(c.frame)) || s.Ours != 1-min(1, uint64(len(c.want))) || c.want != "" && s.Foreign[c.want] != 1 {
			t.Errorf("in VLAN %d, %x: %+v, want %q", c.vlan, c.frame[12:20], s, c.want)
		}
		if traffic != (c.want != "arp") {
			t.Errorf("%x is traffic: %v", c.frame[12:20], traffic)
		}
	}
}

func TestBroadcastCopiesAreNoDuplicates(t *testing.T) {
	run := begin(1, 1)
	lines := make([]*Line, 3)
	for i := range lines {
		lines[i] = run.Line()
		for seq := range uint64(100 + i) { // each line one more than the one before
			lines[i].Frame(datagram(1, 0, seq, 100), 1)
		}
	}
	if got := run.Summary(lines).Senders[0]; got.Unique != 102 || got.Copies != 100+101 || got.Duplicates != 0 || got.Beyond != 102 {
		t.Errorf("got %+v", got)
	}
}

func TestSeriesCountsFromTheRunsFirstFrame(t *testing.T) {
	const ms = int64(time.Millisecond)
	run := begin(1, 1)
	a, b := run.Line(), run.Line()
	a.Frame(datagram(1, 0, 0, 100), 500*ms)
	b.Frame(datagram(1, 0, 1, 100), 520*ms) // the other line's first frame comes 20 ms into the run
	b.Frame(datagram(1, 0, 2, 100), 521*ms)
	b.Frame(datagram(1, 0, 3, 100), 545*ms)
	b.Frame(datagram(1, 0, 4, 100), 549*ms)
	s := run.Summary([]*Line{a, b}).Slaves[1]
	wantAt, wantFrames := []float64{20, 45, 49}, []uint64{0, 2, 4}
	for i := range wantAt {
		if len(s.AtMS) != 3 || s.AtMS[i] != wantAt[i] || s.CumFrames[i] != wantFrames[i] || s.CumBytes[i] != 100*wantFrames[i] {
			t.Fatalf("series %v %v %v, want %v %v", s.AtMS, s.CumFrames, s.CumBytes, wantAt, wantFrames)
		}
	}
}

func TestCheckingAFrameDoesNotAllocate(t *testing.T) {
	c := begin(1, 1).Line()
	f := datagram(1, 0, 0, 4042)
	seq := uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		stamp.PutSeq(f[42:], seq, 0)
		c.Frame(f, int64(seq))
		seq++
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// to is a datagram to the second group.
func to(b []byte) []byte {
	b[14+19] = 2
	return b
}

func TestFlowsCrossOnlyWithinThemselves(t *testing.T) {
	run := begin(1, 1)
	a, b := run.Line(), run.Line()
	a.Frame(datagram(1, 0, 0, 100), 1)
	b.Frame(to(datagram(1, 0, 3, 100)), 2)
	a.Frame(datagram(1, 0, 2, 100), 3) // after 3, but that is another flow
	b.Frame(datagram(1, 0, 1, 100), 4) // after 2 of its own flow, which came on the other line
	w := run.Summary([]*Line{a, b})
	if got := w.Senders[0]; got.Crossed != 1 || got.Reordered != 1 {
		t.Errorf("got %+v, want 1 crossed and, on line 1, 1 reordered", got)
	}
	want := []result.Flow{{Sender: 0, Group: 0, Frames: 1}, {Sender: 0, Group: 1, Frames: 1}}
	if f := w.Slaves[1].Flows; len(f) != 2 || f[0] != want[0] || f[1] != want[1] {
		t.Errorf("flows of line 1 are %v, want %v", f, want)
	}
}

func TestAFrameToAGroupThatIsNotOursIsDamaged(t *testing.T) {
	run := begin(1, 1)
	l := run.Line()
	b := datagram(1, 0, 0, 100)
	b[14+19] = 9
	l.Frame(b, 1)
	if s := run.Summary([]*Line{l}).Slaves[0]; s.Ours != 0 || s.Foreign["damaged"] != 1 {
		t.Errorf("got %+v", s)
	}
}

func TestGapAndSightings(t *testing.T) {
	const ms = int64(time.Millisecond)
	run := begin(1, 1)
	a, b := run.Line(), run.Line()
	arp := append(make([]byte, 12), 0x08, 0x06, 0, 1)
	b.Frame(arp, 90*ms)
	a.Frame(datagram(1, 0, 0, 100), 100*ms)
	a.Frame(datagram(1, 0, 1, 100), 105*ms)
	b.Frame(arp, 130*ms)
	b.Frame(datagram(1, 0, 2, 100), 155*ms)
	b.Frame(datagram(1, 0, 3, 100), 156*ms)
	w := run.Summary([]*Line{a, b})
	if w.GapMS != 50 || w.GapAtMS != 5 {
		t.Errorf("gap of %v ms at %v, want 50 at 5", w.GapMS, w.GapAtMS)
	}
	if s := w.Silences; len(s) != 3 || s[1] != (result.Silence{AtMS: 5, MS: 50}) {
		t.Errorf("silences %v", s)
	}
	if s := w.Slaves[1].Sightings; len(s) != 2 || s[0] != (result.Sighting{AtMS: -10, Kind: "arp"}) || s[1].AtMS != 30 {
		t.Errorf("sightings %v", s)
	}
}

// TestSilences: the longest are kept, in order of time, whatever order they came in.
func TestSilences(t *testing.T) {
	const ms = int64(time.Millisecond)
	run := begin(1, 1)
	l := run.Line()
	now := int64(0)
	for i := range 2 * silencesMost {
		l.Frame(datagram(1, 0, uint64(i), 100), now)
		now += int64(1+(i*7)%(2*silencesMost)) * ms // each length from 1 to 64 once, mixed
	}
	s := run.Summary([]*Line{l}).Silences
	if len(s) != silencesMost {
		t.Fatalf("%d silences", len(s))
	}
	for i, x := range s {
		if x.MS <= silencesMost-1 || i > 0 && x.AtMS <= s[i-1].AtMS {
			t.Errorf("silence %d is %+v", i, x)
		}
	}
}

// TestSightingsOfEachKind: many frames of one kind hide no other's.
func TestSightingsOfEachKind(t *testing.T) {
	arp := append(make([]byte, 12), 0x08, 0x06, 0, 1)
	lacp := append(make([]byte, 12), 0x88, 0x09, 1)
	run := begin(1, 1)
	l := run.Line()
	for i := range 2 * sightingsMost {
		l.Frame(lacp, int64(i))
	}
	l.Frame(arp, 1000)
	s := run.Summary([]*Line{l}).Slaves[0].Sightings
	if len(s) != sightingsMost+1 || s[sightingsMost].Kind != "arp" {
		t.Errorf("%d sightings, the last is %+v", len(s), s[len(s)-1])
	}
}
