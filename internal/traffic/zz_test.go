package traffic
import ("testing";"time";"bondrepro/scenarios";"bondrepro/internal/stamp";"syscall")
var _ = stamp.Size
func TestZZ(t *testing.T) {
	for _, c := range []struct{buf, payload, senders, batch int; rate float64}{{receiveBuffer,1000,2,16,0},{receiveBuffer,4000,8,1,0},{212992,4000,1,1,30000},{212992,4000,8,1,30000},{212992,1000,1,1,100000}} {
	betweenNamespaces(t, 1, func(t *testing.T, p *twoPlaces) {
		traffic := p.traffic(1)
		traffic.Senders, traffic.Batch, traffic.Payload = scenarios.Senders(c.senders), c.batch, c.payload
		traffic.Duration = scenarios.Duration(time.Second)
		traffic.Rate = scenarios.Rate{PacketsPerSecond: c.rate}
		traffic.Socket = scenarios.Socket{Blocking: true, SndBuf: 212992}
		r := p.listen(t, traffic, c.buf)
		r.Begin(7)
		var a, b syscall.Rusage
		syscall.Getrusage(0, &a)
		senders := run(t, Config{Traffic: traffic, Run: 7, Ifindex: p.tx[0].Attrs().Index})
		syscall.Getrusage(0, &b)
		w := settled(t, r)
		ok := uint64(0)
		for _, s := range senders { ok += s.OK }
		s := w.Slaves[0]
		t.Logf("%+v: sent %d ours %d overflow %d missing %d cpu %v senders0 %+v gap %v", c, ok, s.Ours, s.Overflow, ok-s.Ours-s.Overflow, time.Duration(b.Utime.Nano()+b.Stime.Nano()-a.Utime.Nano()-a.Stime.Nano()), w.Senders[0], w.GapMS)
	})
	}
}
