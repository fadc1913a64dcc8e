package arrivals

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bondrepro/internal/stamp"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

var group = netip.MustParseAddrPort("239.66.1.1:6000")

// open is accounts of two lines and two groups, and what counts a datagram of 100 bytes in them.
func open() (*Accounts, func(line int, h stamp.Header, now int64)) {
	a := NewAccounts(scenarios.Traffic{Groups: scenarios.Groups{"239.66.1.1", "239.66.1.2"}}, 2)
	return a, func(line int, h stamp.Header, now int64) {
		b := make([]byte, stamp.Size)
		stamp.Put(b, h)
		a.Datagram(line, stamp.Datagram{Payload: b, To: group}, stamp.UDP4, 100, now)
	}
}

// TestAccountsAreKeptApart: two runs, one after the other and with a late frame of the first, by sender and line.
func TestAccountsAreKeptApart(t *testing.T) {
	const s, ms = int64(time.Second), int64(time.Millisecond)
	a, take := open()
	a.Foreign(0, stamp.ARP, 42, 0) // before any run: nobody's
	a.Overflow(0, 5)
	for i, seq := range []uint64{0, 2, 1, 2, 5} { // late, again, a gap
		take(0, stamp.Header{Run: 70, Sender: 3, Seq: seq}, s+int64(i)*100*ms)
	}
	take(1, stamp.Header{Run: 70, Sender: 3, Seq: 5}, s+500*ms) // a copy
	a.Overflow(1, 2)
	a.Foreign(0, stamp.IGMP, 46, s+6)
	take(0, stamp.Header{Run: 80, Seq: 0}, 9*s)
	a.Foreign(0, stamp.IGMP, 46, 9*s)
	take(0, stamp.Header{Run: 70, Sender: 3, Seq: 6}, 10*s) // of the first
	take(0, stamp.Header{Run: 80, Seq: 1}, 11*s)

	got := a.Summary()
	if len(got) != 2 || got[0].Run != 70 || got[1].Run != 80 {
		t.Fatalf("got %+v", got)
	}
	if got[0].First != s || got[0].Last != 10*s || got[1].First != 9*s || got[1].Last != 11*s {
		t.Errorf("times %+v", got)
	}
	want := result.WireSender{Index: 3, Unique: 5, Duplicates: 1, Reordered: 1, Beyond: 7, Copies: 1, Crossed: 1}
	if d := cmp.Diff(want, got[0].Wire.Senders[3]); d != "" || len(got[0].Wire.Senders) != 4 {
		t.Errorf("sender 3 of %d (-want +got):\n%s", len(got[0].Wire.Senders), d)
	}
	if d := cmp.Diff([]result.WireSender{{Unique: 2, Beyond: 2}}, got[1].Wire.Senders); d != "" {
		t.Errorf("run 80 (-want +got):\n%s", d)
	}
	l := got[0].Wire.Slaves
	if l[0].Ours != 6 || l[1].Ours != 1 || l[1].Overflow != 2 || l[0].Overflow != 0 || l[0].Foreign["igmp"] != 1 || len(l[0].Foreign) != 1 || l[0].Stale != 0 {
		t.Errorf("lines of run 70: %+v", l)
	}
	if f := got[1].Wire.Slaves[0].Foreign["igmp"]; f != 1 {
		t.Errorf("%d foreign frames in run 80, want 1", f)
	}
	if at := l[0].AtMS; len(at) != 3 || at[1] != 9000 { // at its first and last frame, and one a second where there are any
		t.Errorf("the series has points at %v", at)
	}
}

// TestDamagedOpensNoAccount: what can't be of a run must not push one out.
func TestDamagedOpensNoAccount(t *testing.T) {
	a, take := open()
	take(0, stamp.Header{Run: 1, Seq: 1 << 60}, 1)
	take(0, stamp.Header{Run: 2, Sender: sendersMost}, 2)
	a.Datagram(0, stamp.Datagram{Payload: []byte("not ours"), To: group}, stamp.UDP4, 50, 3)
	b := make([]byte, stamp.Size)
	stamp.Put(b, stamp.Header{Run: 3})
	a.Datagram(0, stamp.Datagram{Payload: b, To: netip.MustParseAddrPort("239.66.1.9:6000")}, stamp.UDP4, 50, 3)
	if got := a.Summary(); len(got) != 0 {
		t.Errorf("accounts %+v", got)
	}
	take(0, stamp.Header{Run: 4, Sender: sendersMost - 1}, 4)
	take(0, stamp.Header{Run: 5, Seq: seqMax}, 5)
	got := a.Summary()
	if len(got) != 1 || got[0].Run != 4 || got[0].Wire.Slaves[0].Foreign["damaged"] != 1 {
		t.Errorf("accounts %+v", got)
	}
}

// TestTheLatestRunsAreKept: a new run takes the place of the one that was silent longest, not of the one that began first.
func TestTheLatestRunsAreKept(t *testing.T) {
	a, take := open()
	for run := range uint32(result.ReceivedRuns) {
		take(0, stamp.Header{Run: run}, int64(run))
	}
	take(0, stamp.Header{Run: 0, Seq: 1}, result.ReceivedRuns)
	for run := uint32(100); run < 103; run++ {
		take(0, stamp.Header{Run: run}, int64(run))
	}
	got := a.Summary()
	if len(got) != result.ReceivedRuns || a.Forgotten() != 3 {
		t.Fatalf("%d accounts, %d forgotten", len(got), a.Forgotten())
	}
	if got[0].Run != 0 || got[0].Wire.Senders[0].Unique != 2 || got[1].Run != 4 || got[result.ReceivedRuns-1].Run != 102 {
		t.Errorf("kept are %d (%+v), %d, …, %d", got[0].Run, got[0].Wire.Senders, got[1].Run, got[result.ReceivedRuns-1].Run)
	}
}

func TestAccountsAllocateNothing(t *testing.T) {
	a, _ := open()
	b := make([]byte, stamp.Size)
	stamp.Put(b, stamp.Header{Run: 1, Sender: 9})
	seq := uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		stamp.PutSeq(b, seq, 0)
		a.Datagram(0, stamp.Datagram{Payload: b, To: group}, stamp.UDP4, 100, int64(seq))
		seq++
	}); n != 0 {
		t.Errorf("%v allocations a datagram", n)
	}
}
