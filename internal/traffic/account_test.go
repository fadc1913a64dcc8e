package traffic

import (
	"reflect"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/internal/stamp"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// scripted is a writer that answers from a list, and then takes everything.
type scripted struct {
	answers []answer
	charged int
	m       *messages
	gone    map[uint64]int // how often each number was sent
	ended   func()
}

type answer struct {
	n     int
	errno syscall.Errno
}

func (w *scripted) write(k int) (int, syscall.Errno) {
	if len(w.answers) == 0 {
		w.ended()
		return -1, unix.EAGAIN
	}
	a := w.answers[0]
	w.answers = w.answers[1:]
	for i := range max(a.n, 0) {
		w.gone[w.number(i)]++
	}
	return a.n, a.errno
}

func (w *scripted) writeHead() (int, syscall.Errno) { return w.write(1) }
func (w *scripted) outq() int                       { return w.charged }

func (w *scripted) number(i int) uint64 {
	h, _ := stamp.Parse(w.m.batch[i].Buffers[0])
	return h.Seq
}

// play runs a sender over a list of answers.
func play(t *testing.T, blocking bool, batch, charged int, answers ...answer) (result.Sender, *scripted) {
	t.Helper()
	traffic := scenarios.Traffic{Groups: scenarios.Groups{"239.66.1.1"}, Port: 6000, Payload: 64, Senders: 1, Batch: batch}
	traffic.Socket.Blocking = blocking
	m, err := newMessages(traffic, 1, 0, batch, batch)
	if err != nil {
		t.Fatal(err)
	}
	clock, err := newClock()
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	w := &scripted{answers: answers, charged: charged, m: m, gone: map[uint64]int{}, ended: func() { stop.Store(true) }}
	s := &sender{t: traffic, family: &inet4, fd: -1, sndbuf: 1000, w: w, m: m, q: newErrqueue(-1, &inet4), clock: clock, stop: &stop, account: newAccount(blocking)}
	start := clock.now()
	s.loop(start, start+int64(10*time.Second))
	return s.report(), w
}

func TestAccounts(t *testing.T) {
	const sndbuf = 1000 // of play
	for _, c := range []struct {
		name     string
		blocking bool
		batch    int
		charged  int
		answers  []answer
		want     result.Sender // what is compared: OK, EAGAIN, ENOBUFS, Hidden, Other, Seqs
	}{
		{"all taken", false, 4, 0, []answer{{n: 4}, {n: 4}}, result.Sender{OK: 8, EAGAIN: 1, Seqs: 8}},
		{"EAGAIN uses no number", false, 1, 0, []answer{{-1, unix.EAGAIN}, {n: 1}}, result.Sender{OK: 1, EAGAIN: 2, Seqs: 1}},
		{"ENOBUFS uses one", false, 1, 0, []answer{{-1, unix.ENOBUFS}, {n: 1}}, result.Sender{OK: 1, EAGAIN: 1, ENOBUFS: 1, Seqs: 2}},
		{"ENOBUFS at a batch's head uses one, not the batch's", false, 4, 0, []answer{{-1, unix.ENOBUFS}, {n: 4}}, result.Sender{OK: 4, EAGAIN: 1, ENOBUFS: 1, Seqs: 5}},
		{"a short count with a full buffer is EAGAIN", false, 4, sndbuf, []answer{{n: 3}}, result.Sender{OK: 3, EAGAIN: 2, Seqs: 3}},
		{"a short count otherwise is hidden and uses a number", false, 4, sndbuf - 1, []answer{{n: 3}, {n: 4}}, result.Sender{OK: 7, EAGAIN: 1, Hidden: 1, Seqs: 8}},
		{"other errors use no number", false, 1, 0, []answer{{-1, unix.EPERM}, {-1, unix.ENETUNREACH}, {-1, unix.EPERM}, {n: 1}},
			result.Sender{OK: 1, EAGAIN: 1, Seqs: 1, Other: map[string]uint64{"EPERM": 2, "ENETUNREACH": 1}}},
		{"an interrupted send is no send", false, 1, 0, []answer{{-1, unix.EINTR}, {n: 1}}, result.Sender{OK: 1, EAGAIN: 1, Seqs: 1}},
		{"a blocking sender is never refused", true, 1, 0, []answer{{-1, unix.EAGAIN}, {-1, unix.EAGAIN}, {-1, unix.EINTR}, {n: 1}}, result.Sender{OK: 1, Seqs: 1}},
		{"a blocking sender sends one message of a batch that did not fit", true, 4, sndbuf, []answer{{n: 2}, {n: 1}, {n: 4}}, result.Sender{OK: 7, Seqs: 7}},
		{"a wait may end in a drop", true, 1, 0, []answer{{-1, unix.EAGAIN}, {-1, unix.ENOBUFS}}, result.Sender{ENOBUFS: 1, Seqs: 1}},
		{"a wait may end in an error", true, 1, 0, []answer{{-1, unix.EAGAIN}, {-1, unix.EHOSTUNREACH}}, result.Sender{Other: map[string]uint64{"EHOSTUNREACH": 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, w := play(t, c.blocking, c.batch, c.charged, c.answers...)
			kept := result.Sender{OK: got.OK, EAGAIN: got.EAGAIN, ENOBUFS: got.ENOBUFS, Hidden: got.Hidden, Other: got.Other, Seqs: got.Seqs}
			if !reflect.DeepEqual(kept, c.want) {
				t.Errorf("account\n got %+v\nwant %+v", kept, c.want)
			}
			if got.Seqs != got.OK+got.ENOBUFS+got.Hidden {
				t.Errorf("%d numbers used up, but ok + ENOBUFS + hidden = %d", got.Seqs, got.OK+got.ENOBUFS+got.Hidden)
			}
			for seq, n := range w.gone {
				if n > 1 {
					t.Errorf("number %d was sent %d times", seq, n)
				}
			}
			if uint64(len(w.gone)) != got.OK {
				t.Errorf("%d numbers went out, the account says %d", len(w.gone), got.OK)
			}
		})
	}
}

func TestWaitsAreTimed(t *testing.T) {
	for _, blocking := range []bool{true, false} {
		got, _ := play(t, blocking, 1, 0, answer{-1, unix.EAGAIN}, answer{n: 1}, answer{n: 1}, answer{-1, unix.EAGAIN}, answer{n: 1})
		var waits uint64
		for _, b := range got.Blocked {
			waits += b.Count
		}
		// The third wait is the one the script ends in.
		if waits != 3 || got.BlockedMS <= 0 {
			t.Errorf("blocking %v: %d waits, %v ms, want 3 waits", blocking, waits, got.BlockedMS)
		}
	}
}

func TestBuckets(t *testing.T) {
	a := newAccount(true)
	for _, ns := range []int64{0, 1000, 1001, 2000, 2001, 4000, 4001, 8000} {
		a.waited(ns)
	}
	want := []result.Bucket{{UpToUS: 1, Count: 2}, {UpToUS: 2, Count: 2}, {UpToUS: 4, Count: 2}, {UpToUS: 8, Count: 2}}
	if got := a.buckets(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if a.blocked != 22003 {
		t.Errorf("blocked %d ns, want 22003", a.blocked)
	}
}
