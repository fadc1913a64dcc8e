package traffic

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// BenchmarkSend sends over a veth as a sender does, and the same packets by sendmmsg alone; "ratio" is our time by its.
func BenchmarkSend(b *testing.B) {
	for _, batch := range []int{1, 32} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			inNamespace(b, func(b *testing.B, l line) {
				cfg := l.config(func(s *scenarios.Traffic) { s.Batch, s.Payload = batch, 1400 })
				ours, raw := opened(b, cfg).senders[0], opened(b, cfg).senders[0]
				raw.m.prepare(batch, 0, 0, 0)
				b.ReportAllocs()
				var times [2]time.Duration
				// In turns, so that whatever else the machine does meets both alike.
				for b.Loop() {
					times[0] += timed(func() { ours.try(ours.clock.now()) })
					times[1] += timed(func() { _, _ = sendmmsg(raw.fd, raw.m.headers, unix.MSG_DONTWAIT) })
				}
				calls := float64(b.N * batch)
				b.ReportMetric(float64(times[0])/calls, "ours-ns/packet")
				b.ReportMetric(float64(times[1])/calls, "raw-ns/packet")
				b.ReportMetric(float64(times[0])/float64(times[1]), "ratio")
				if got := ours.account.ok; got != uint64(b.N*batch) {
					b.Logf("%d of %d packets were taken", got, b.N*batch)
				}
			})
		})
	}
}

func BenchmarkOutq(b *testing.B) {
	inNamespace(b, func(b *testing.B, l line) {
		g := opened(b, l.config(func(s *scenarios.Traffic) { s.Senders = 8 }))
		dst := make([]int, 0, 8)
		b.ReportAllocs()
		for b.Loop() {
			dst = g.Outq(dst)
		}
	})
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}
