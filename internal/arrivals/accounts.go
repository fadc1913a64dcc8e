package arrivals

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"time"

	"bondrepro/internal/stamp"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

const (
	// accountsEvery is the distance of the points of a line's series: runs may be long, and there are many.
	accountsEvery = int64(time.Second)
	// sendersMost is as many as a scenario can have.
	sendersMost = 4096
)

// Accounts counts runs whose numbers and senders nobody knows before: the first frame of a run opens an account. Its owner locks.
type Accounts struct {
	lines     int
	groups    map[netip.Addr]int
	accounts  []*account // by their first frames
	latest    *account   // whose frame came last; nil before the first
	forgotten uint64
}

// account is one run's.
type account struct {
	run   *Run
	lines []*Line
}

// Account is what is known of one run. Times are on the clock of whoever called.
type Account struct {
	Run         uint32
	First, Last int64 // ns
	Wire        result.Wire
}

// NewAccounts begins to count what comes to the groups of a scenario on so many lines.
func NewAccounts(t scenarios.Traffic, lines int) *Accounts {
	return &Accounts{lines: lines, groups: groupsOf(t)}
}

// Datagram counts one UDP datagram that came on a line at now in a frame of size bytes, in the account of its run.
func (a *Accounts) Datagram(line int, d stamp.Datagram, kind stamp.Kind, size int, now int64) {
	h, ours := stamp.Parse(d.Payload)
	_, known := a.groups[d.To.Addr()]
	switch {
	case !ours:
		a.Foreign(line, kind, size, now)
		return
	case !known || h.Seq >= seqMax || h.Sender >= sendersMost:
		a.Foreign(line, Damaged, size, now) // it opens no account
		return
	case a.latest == nil || a.latest.run.number != h.Run:
		a.latest = a.of(h.Run)
	}
	a.latest.lines[line].Datagram(d, kind, size, now)
}

// of is the account of a run. A new one takes the place of that which was silent for the longest time.
func (a *Accounts) of(number uint32) *account {
	if i := slices.IndexFunc(a.accounts, func(x *account) bool { return x.run.number == number }); i >= 0 {
		return a.accounts[i]
	}
	if len(a.accounts) == result.ReceivedRuns {
		oldest := slices.MinFunc(a.accounts, func(x, y *account) int { return cmp.Compare(x.run.last, y.run.last) })
		a.accounts = slices.DeleteFunc(a.accounts, func(x *account) bool { return x == oldest })
		a.forgotten++
	}
	x := &account{run: &Run{
		number: number, senders: sendersMost, every: accountsEvery, groups: a.groups, first: math.MinInt64, greatest: map[flow]uint64{},
	}}
	for range a.lines {
		x.lines = append(x.lines, x.run.Line())
	}
	a.accounts = append(a.accounts, x)
	return x
}

// Foreign counts a frame that is of no run, for the run that was heard last.
func (a *Accounts) Foreign(line int, kind stamp.Kind, size int, now int64) {
	if a.latest != nil {
		a.latest.lines[line].Foreign(kind, size, now)
	}
}

// Overflow counts n datagrams that the socket of a line had no room for, for the run that was heard last.
func (a *Accounts) Overflow(line int, n uint64) {
	if a.latest != nil {
		a.latest.lines[line].Overflow(n)
	}
}

// Forgotten is how many runs have lost their accounts to later ones.
func (a *Accounts) Forgotten() uint64 { return a.forgotten }

// Summary is every account, by the times of their first frames.
func (a *Accounts) Summary() []Account {
	out := make([]Account, 0, len(a.accounts))
	for _, x := range a.accounts {
		out = append(out, Account{Run: x.run.number, First: x.run.first, Last: x.run.last, Wire: x.run.Summary(x.lines)})
	}
	return out
}
