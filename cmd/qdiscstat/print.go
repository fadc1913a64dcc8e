package main

import (
	"io"
	"time"

	"bondrepro/qdiscstat"
	"bondrepro/qdiscstat/counters"
)

// clock is the layout of the time of a poll.
const clock = "2006-01-02T15:04:05.000000Z07:00"

// printer writes one sample.
type printer func(w io.Writer, sample *qdiscstat.Sample) error

// text prints as tc does. Repeatedly it begins with the time and says what was counted since the last sample.
func text(repeatedly bool) printer {
	var last map[counters.Key]counters.Qdisc
	var lastAt time.Time
	return func(w io.Writer, sample *qdiscstat.Sample) error {
		var b []byte
		if repeatedly {
			b = append(sample.At.AppendFormat(b, clock), '\n')
		}
		now := make(map[counters.Key]counters.Qdisc, len(sample.Qdiscs))
		for i := range sample.Qdiscs {
			q := &sample.Qdiscs[i]
			b = q.AppendText(b)
			if before, seen := last[q.Key()]; seen {
				diff, reset := counters.Delta(before, *q)
				b = diff.AppendText(b, sample.At.Sub(lastAt).Round(time.Millisecond), reset)
			}
			now[q.Key()] = *q
		}
		last, lastAt = now, sample.At
		_, err := w.Write(b)
		return err
	}
}

// jsonLines prints one line a qdisc.
func jsonLines(w io.Writer, sample *qdiscstat.Sample) (err error) {
	var b []byte
	for i := range sample.Qdiscs {
		if b, err = sample.Qdiscs[i].AppendJSON(b, sample.At); err != nil {
			return err
		}
	}
	_, err = w.Write(b)
	return err
}
