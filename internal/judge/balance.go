package judge

import (
	"fmt"

	"bondrepro/reproducer/result"
)

// balance is what the ledger's remainders amount to.
type balance struct {
	lost, doubled    int64  // packets, from counters
	lostAt, doubleAt string // the hops with the greatest remainder of either sign
	gaps, duplicates int64  // packets, seen at the wire
	dropped          int64  // packets, counted: a doubled one may be among them and never reach the wire
	wire             bool
}

func weigh(l result.Ledger, dropped int64) balance {
	b := balance{dropped: dropped}
	var most, least int64
	for _, h := range l.Hops {
		switch {
		case h.Name == hopGaps:
			b.gaps, b.wire = h.Remainder, true
		case h.Name == hopReceiver: // not the kernel's under test
		case h.Name == hopDuplicates:
			b.duplicates = -h.Remainder
		case h.Remainder > 0:
			b.lost += h.Remainder
			if h.Remainder > most {
				most, b.lostAt = h.Remainder, h.Name
			}
		case h.Remainder < 0:
			b.doubled -= h.Remainder
			if h.Remainder < least {
				least, b.doubleAt = h.Remainder, h.Name
			}
		}
	}
	return b
}

// even tells that every hop balances and the wire saw neither an unexplained gap nor a duplicate.
func (b balance) even() bool {
	return b.lost == 0 && b.doubled == 0 && b.gaps == 0 && b.duplicates == 0
}

// confirmed tells that the wire saw what the counters miss: as many gaps as were lost, as many duplicates as
// were doubled and not dropped.
func (b balance) confirmed() bool {
	return !b.even() && agree(b.lost, b.gaps, 0) && agree(b.doubled, b.duplicates, b.dropped)
}

// agree allows 5 % or 1 between a remainder and its evidence, which are counted at different places; of the
// evidence as many as hidden may be missing, but not all.
func agree(remainder, evidence, hidden int64) bool {
	if remainder == 0 || evidence == 0 {
		return remainder == evidence
	}
	slack := max(1, remainder/20)
	return evidence <= remainder+slack && evidence >= remainder-slack-hidden
}

// String is the evidence in figures.
func (b balance) String() string {
	if b.even() {
		return "every hop balances"
	}
	var s string
	if b.lost > 0 {
		s = fmt.Sprintf("remainder %+d at hop %q; ", b.lost, b.lostAt)
	}
	if b.doubled > 0 {
		s += fmt.Sprintf("remainder %+d at hop %q; ", -b.doubled, b.doubleAt)
	}
	if !b.wire {
		return s + "nothing at the wire can confirm it"
	}
	return s + fmt.Sprintf("at the wire %d unexplained gaps and %d duplicates", b.gaps, b.duplicates)
}
