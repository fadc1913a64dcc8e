package measure

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"bondrepro/qdiscstat"
	"bondrepro/qdiscstat/counters"
	"bondrepro/reproducer/result"
)

// path reads every counter between the senders and the slaves' drivers.
type path struct {
	conn   *qdiscstat.Conn
	bond   int   // ifindex
	slaves []int // ifindex
	orphan bool
	rings  []*rings // one a slave: nil where completions are counted, or there is nothing to read

	// Buffers of the last reading, reused: a poll allocates nothing.
	qdiscs []counters.Qdisc
	one    []counters.Qdisc
}

// reading is one poll of the path, as the kernel counts: absolute.
type reading struct {
	into   uint64
	netem  counters.Qdisc
	slaves []slaveReading
}

type slaveReading struct {
	leaves   []counters.Qdisc
	link     counters.Link
	ring     bool  // byte queue limits may tell what the driver's rings hold:
	inflight int64 // bytes
}

const interruptedRetries = 5

// read polls all counters. What enters the bond, and what its slaves' qdiscs did with it, come from one dump: at tens
// of thousands of packets a second a difference of counters read by two system calls is off by what moved between.
// Completions are read last: what moves meanwhile makes "in flight" too small, and the oracle does not cry wolf.
func (p *path) read(r *reading) (err error) {
	if cap(r.slaves) < len(p.slaves) {
		r.slaves = make([]slaveReading, len(p.slaves))
	}
	if p.qdiscs, err = p.dump(); err != nil {
		return fmt.Errorf("read qdisc counters: %w", err)
	}
	p.sort(r)
	for i, ifindex := range p.slaves {
		if r.slaves[i].link, err = p.conn.Link(ifindex); err != nil {
			return fmt.Errorf("read link counters: %w", err)
		}
		if p.rings[i] == nil {
			continue
		}
		r.slaves[i].ring = true
		if r.slaves[i].inflight, err = p.rings[i].read(); err != nil {
			return err
		}
	}
	return nil
}

// close closes what the path holds open.
func (p *path) close() error {
	var errs []error
	for _, r := range p.rings {
		if r != nil {
			errs = append(errs, r.close())
		}
	}
	return errors.Join(errs...)
}

// sort gives each slave its leaves of the last dump, and the bond its clsact and netem.
func (p *path) sort(r *reading) {
	for i, ifindex := range p.slaves {
		p.one = p.one[:0]
		for _, q := range p.qdiscs {
			if q.Ifindex == ifindex {
				p.one = append(p.one, q)
			}
		}
		r.slaves[i].leaves = counters.AppendLeaves(r.slaves[i].leaves[:0], p.one)
	}
	for _, q := range p.qdiscs {
		switch {
		case q.Ifindex != p.bond:
		case q.Kind == "clsact":
			r.into = q.Packets
		case q.Kind == "netem":
			r.netem = q
		}
	}
}

func (p *path) dump() (qs []counters.Qdisc, err error) {
	for range interruptedRetries {
		qs, err = p.conn.Qdiscs(p.qdiscs[:0])
		if !errors.Is(err, qdiscstat.ErrInterrupted) {
			break
		}
	}
	return qs, err
}

// busy tells what is still under way in a reading, as packets: in the slaves' qdiscs and netem, and handed to
// a driver that counts completions but not completed since before.
func (p *path) busy(before, now *reading, completes []bool) (backlog uint32, inDriver uint64) {
	for i := range now.slaves {
		var sent uint64
		for _, q := range now.slaves[i].leaves {
			backlog += q.Qlen
		}
		sent = diffs(before.slaves[i].leaves, now.slaves[i].leaves).Packets
		finished := done(now.slaves[i].link) - done(before.slaves[i].link)
		switch {
		case completes[i] && sent > finished:
			inDriver += sent - finished
		case now.slaves[i].inflight > 0:
			inDriver++ // how many packets that is can't be told
		}
	}
	return backlog + now.netem.Qlen, inDriver
}

// counted tells whether the slaves' own counters have all that their qdiscs sent since before.
func (p *path) counted(before, now *reading) bool {
	for i := range now.slaves {
		sent := diffs(before.slaves[i].leaves, now.slaves[i].leaves).Packets
		if done(now.slaves[i].link)-done(before.slaves[i].link) < sent {
			return false
		}
	}
	return true
}

// diffs sums what the leaves counted between two readings.
func diffs(before, after []counters.Qdisc) (sum counters.Diff) {
	for i := range after {
		b := counters.Qdisc{Ifindex: after[i].Ifindex, Kind: after[i].Kind, Parent: after[i].Parent, Handle: after[i].Handle}
		for j := range before {
			if before[j].Key() == after[i].Key() {
				b = before[j]
			}
		}
		d, _ := counters.Delta(b, after[i])
		sum.Add(d)
	}
	return sum
}

// snapshot reads r and all that is read only when nothing moves.
func (p *path) snapshot(r *reading) (result.Snapshot, error) {
	if err := p.read(r); err != nil {
		return result.Snapshot{}, err
	}
	bond, err := p.conn.Link(p.bond)
	if err != nil {
		return result.Snapshot{}, fmt.Errorf("read the bond's link counters: %w", err)
	}
	sndbuf, err := sndbufErrors()
	if err != nil {
		return result.Snapshot{}, err
	}
	into, err := p.conn.Action(p.bond, counters.ClsactEgress)
	if err != nil {
		return result.Snapshot{}, fmt.Errorf("read the bond's egress counter: %w", err)
	}
	s := result.Snapshot{Into: into.Packets, BondTx: bond.TxPackets, SndbufErrors: sndbuf}
	if p.orphan {
		netem := []counters.Qdisc{r.netem}
		if err := p.conn.Options(netem); err != nil {
			return result.Snapshot{}, fmt.Errorf("read netem's options: %w", err)
		}
		s.Orphaner = &netem[0]
	}
	for i, x := range r.slaves {
		if err := p.conn.Options(x.leaves); err != nil {
			return result.Snapshot{}, fmt.Errorf("read qdisc options: %w", err)
		}
		changes, err := carrierChanges(p.slaves[i])
		if err != nil {
			return result.Snapshot{}, err
		}
		s.Slaves = append(s.Slaves, result.SlaveCounters{
			Qdiscs:    append([]counters.Qdisc(nil), x.leaves...),
			TxPackets: x.link.TxPackets, TxBytes: x.link.TxBytes, TxDropped: x.link.TxDropped,
			CarrierChanges: changes,
		})
	}
	return s, nil
}

// sndbufErrors is "Udp: SndbufErrors" of the thread's namespace. It mixes full send buffers and qdisc drops
// (net/ipv4/udp.c, udp_send_skb and udp_sendmsg).
func sndbufErrors() (uint64, error) {
	text, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		return 0, fmt.Errorf("read UDP counters: %w", err)
	}
	return snmpField(string(text), "Udp:", "SndbufErrors"), nil
}

// snmpField finds a counter in the pairs of lines (names, then values) of /proc/net/snmp; 0 when absent.
func snmpField(text, protocol, field string) uint64 {
	var names []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != protocol {
			continue
		}
		if names == nil {
			names = words
			continue
		}
		for i, n := range names {
			if n == field && i < len(words) {
				var v uint64
				fmt.Sscan(words[i], &v)
				return v
			}
		}
	}
	return 0
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}
