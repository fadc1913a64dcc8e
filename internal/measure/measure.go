package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/traffic"
	"bondrepro/qdiscstat"
	"bondrepro/reproducer/result"
)

// place is a topology that is up, with everything needed to measure on it.
type place struct {
	client *bondctl.Client
	conn   *qdiscstat.Conn
	spec   bondctl.Spec
	state  *bondctl.State
	paired bool // the partner is up
	leaves bool // the bond was there, and stays
	before []features
}

// features are those of a slave that are changed for a measurement, as they were.
type features struct {
	slave string
	on    map[string]bool
}

// remember reads the features that the scenario sets: slaves outlive a measurement, and the next arm may not set them.
func (p *place) remember() error {
	if p.leaves || len(p.spec.Offload) == 0 {
		return nil
	}
	for _, name := range p.spec.Slaves {
		on, err := bondctl.Offload(name, slices.Collect(maps.Keys(p.spec.Offload)))
		if err != nil {
			return err
		}
		p.before = append(p.before, features{name, on})
	}
	return nil
}

// up builds the job's topology in the calling thread's namespace. The caller calls down.
func up(ctx context.Context, job Job) (_ *place, err error) {
	names, err := slaveNames(job, job.Slaves)
	if err != nil {
		return nil, err
	}
	partner, err := slaveNames(job, job.Partner)
	if err != nil {
		return nil, err
	}
	client, err := bondctl.Open()
	if err != nil {
		return nil, err
	}
	if job.Ports != nil {
		client.Changed = job.Ports.Changed
	}
	p := &place{client: client, spec: spec(job, names), leaves: job.Ports != nil && job.Ports.Existing}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.down())
		}
	}()
	if len(partner) > 0 {
		if _, err := client.Up(ctx, partnerSpec(job.Scenario, partner)); err != nil {
			return nil, err
		}
		p.paired = true
	}
	if err := p.remember(); err != nil {
		return nil, err
	}
	build := client.Up
	if p.leaves {
		build = client.Adopt
	}
	if p.state, err = build(ctx, p.spec); err != nil {
		return nil, err
	}
	p.conn, err = qdiscstat.Open()
	return p, err
}

// down takes away what was built of the topology.
func (p *place) down() error {
	var errs []error
	switch {
	case p.state == nil:
	case p.leaves:
		errs = append(errs, p.client.Release(p.spec, p.state))
	default:
		errs = append(errs, p.client.Down(p.spec.Name))
	}
	if p.paired {
		errs = append(errs, p.client.Down(partnerName))
	}
	errs = append(errs, p.putBack())
	errs = append(errs, p.client.Close())
	if p.conn != nil {
		errs = append(errs, p.conn.Close())
	}
	return errors.Join(errs...)
}

// putBack sets the features as they were.
func (p *place) putBack() error {
	var errs []error
	for _, f := range p.before {
		errs = append(errs, bondctl.SetOffload(f.slave, f.on))
	}
	return errors.Join(errs...)
}

// path is what there is to read. The caller closes it.
func (p *place) path() (*path, error) {
	counters := &path{conn: p.conn, bond: p.state.Ifindex, orphan: p.spec.Orphan}
	for _, s := range p.state.Slaves {
		var ring *rings
		if !s.CountsCompletions {
			var err error
			if ring, err = openRings(s.Name); err != nil {
				return nil, errors.Join(err, counters.close())
			}
		}
		counters.slaves, counters.rings = append(counters.slaves, s.Ifindex), append(counters.rings, ring)
	}
	return counters, nil
}

// ProbeTopology builds the job's topology, finds what one packet is charged to its socket, and takes the
// topology down again. The lines must be stopped, or packets leave before their charge can be read. LACP can't agree
// over stopped lines, and what is sent straight out of a slave does not need it: a partner is left out.
func ProbeTopology(ctx context.Context, job Job) (probe Probe, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	job.probing = true
	if len(job.Partner) > 0 {
		job.Partner, job.Scenario.Topology.Bond.MinLinks = nil, nil
	}
	p, err := up(ctx, job)
	if err != nil {
		return Probe{}, err
	}
	defer func() { err = errors.Join(err, p.down()) }()
	job.Scenario.Traffic.Groups = job.Scenario.Traffic.Groups[:1] // one flow fills one TX queue soonest
	// Straight out of a slave: a bond under test may orphan every packet, and then none stays charged.
	if probe.Truesize, err = traffic.MeasureTruesize(trafficConfig(job, p.state.Slaves[0].Ifindex)); err != nil {
		return Probe{}, err
	}
	_, probe.Slaves = recorded(job, p)
	return probe, nil
}

// Measure runs the job: topology up, quiet, send and sample, drain, quiet, topology down.
func Measure(ctx context.Context, job Job) (rec result.Recording, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	undo, err := sysctlsHere(job)
	defer func() { err = errors.Join(err, undo()) }()
	if err != nil {
		return rec, err
	}
	p, err := up(ctx, job)
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, p.down()) }()

	rec = result.Recording{Arm: job.Arm, Run: job.Run, Started: time.Now(), Truesize: job.Truesize, LineRate: job.LineRate}
	rec.Bond, rec.Slaves = recorded(job, p)
	group, err := traffic.Open(trafficConfig(job, p.state.Egress))
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, group.Close()) }()

	path, err := p.path()
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, path.close()) }()
	m := &measurement{job: job, place: p, path: path, group: group, rec: &rec}
	for _, s := range p.state.Slaves {
		m.completes = append(m.completes, s.CountsCompletions)
	}
	m.faults = newFaults(job.Scenario, p, group)
	err = m.run(ctx)
	return rec, err
}

// measurement is one run on a topology that is up.
type measurement struct {
	job       Job
	place     *place
	path      *path
	group     *traffic.Group
	faults    *faults
	completes []bool
	rec       *result.Recording
	outq      []int
}

func (m *measurement) run(ctx context.Context) error {
	if err := m.waitStill(ctx); err != nil {
		return err
	}
	active, err := m.place.client.ActiveSlave(m.place.spec.Name)
	if err != nil {
		return err
	}
	up := slices.Repeat([]bool{true}, len(m.path.slaves)) // bondctl made sure
	ears, err := listen(known{bond: m.path.bond, slaves: m.path.slaves, up: up, active: active})
	if err != nil {
		return err
	}
	began, err := m.send(ctx)
	events, lost := ears.close(began)
	if err := errors.Join(err, lost); err != nil {
		return err
	}
	m.rec.Events = append(events, m.faults.made...)
	slices.SortStableFunc(m.rec.Events, func(a, b result.Event) int { return cmp.Compare(a.AtMS, b.AtMS) })
	return nil
}

// send is the run from quiet to quiet. It returns when the first packet was sent.
func (m *measurement) send(ctx context.Context) (began time.Time, err error) {
	var before, after reading
	if m.rec.Before, err = m.path.snapshot(&before); err != nil {
		return began, err
	}
	if err := m.faults.due(0); err != nil {
		return began, err
	}
	m.group.Start(ctx)
	ended := make(chan struct{})
	go func() {
		m.group.Wait()
		close(ended)
	}()
	began = m.group.BeganAt()
	s, err := m.sample(ctx, began, before, ended)
	if err != nil {
		return began, err
	}
	m.rec.Series = s.series
	if err := ctx.Err(); err != nil {
		return began, fmt.Errorf("measurement cancelled: %w", err)
	}
	if m.rec.Drain, err = m.drain(ctx, &before); err != nil {
		return began, err
	}
	m.rec.Senders = m.group.Senders() // again: the last TX timestamps and completions have come
	if err := m.waitCounters(ctx, &before); err != nil {
		return began, err
	}
	for i, r := range m.path.rings {
		m.rec.Slaves[i].BQL = r != nil && r.used()
	}
	m.rec.After, err = m.path.snapshot(&after)
	return began, err
}

// sample polls until the senders have ended, and makes the faults.
func (m *measurement) sample(ctx context.Context, began time.Time, before reading, ended <-chan struct{}) (*sampler, error) {
	interval := m.job.Scenario.Sampling.Interval.D()
	s := newSampler(before, int(m.job.Scenario.Traffic.Duration.D()/interval)+16)
	now := copyReading(before)
	var failure error
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for next := began.Add(interval); ; {
		select {
		case <-ended:
			return s, failure
		case <-timer.C:
		}
		if failure == nil {
			failure = m.poll(began, s, &now)
		}
		late := time.Since(next)
		if missed := int(late / interval); missed > 0 {
			s.series.Missed += missed
			next = next.Add(time.Duration(missed) * interval)
		}
		next = next.Add(interval)
		timer.Reset(time.Until(next))
	}
}

func (m *measurement) poll(began time.Time, s *sampler, now *reading) error {
	at := time.Since(began)
	if err := m.faults.due(at); err != nil {
		return err
	}
	m.outq = m.group.Outq(m.outq[:0])
	var sum int64
	for _, q := range m.outq {
		sum += int64(q)
	}
	err := m.path.read(now)
	if errors.Is(err, qdiscstat.ErrInterrupted) {
		s.series.Missed++
		return nil
	}
	if err != nil {
		return err
	}
	s.add(at, sum, now, m.path.orphan)
	return nil
}

// waitStill waits until no counter has moved for the settle time: a bond that just came up announces itself.
func (m *measurement) waitStill(ctx context.Context) error {
	var last, now reading
	if err := m.path.read(&last); err != nil {
		return err
	}
	quiet, err := untilQuiet(ctx, func() (bool, error) {
		if err := m.path.read(&now); err != nil {
			return false, err
		}
		still := m.still(&last, &now)
		last = copyReading(now)
		return still, nil
	})
	if err == nil && !quiet {
		if m.place.leaves {
			return fmt.Errorf("%s carries other traffic: it was never quiet for %v, and only a bond that is otherwise idle can be measured", m.place.spec.Name, settle)
		}
		err = fmt.Errorf("%s was never quiet for %v before the run: something sends over it, or its counters move by themselves", m.place.spec.Name, settle)
	}
	return err
}

func (m *measurement) still(last, now *reading) bool {
	if last.into != now.into {
		return false
	}
	for i := range now.slaves {
		if last.slaves[i].link.TxPackets != now.slaves[i].link.TxPackets {
			return false
		}
	}
	backlog, _ := m.path.busy(last, now, m.completes)
	return backlog == 0
}

// drain waits until nothing is left between the sockets and the wire.
func (m *measurement) drain(ctx context.Context, before *reading) (result.Drain, error) {
	start := time.Now()
	var now reading
	var backlog uint32
	var outq int
	quiet, err := untilQuiet(ctx, func() (bool, error) {
		if err := m.path.read(&now); err != nil {
			return false, err
		}
		var inDriver uint64
		backlog, inDriver = m.path.busy(before, &now, m.completes)
		m.outq = m.group.Outq(m.outq[:0])
		outq = 0
		for _, q := range m.outq {
			outq += q
		}
		return backlog == 0 && outq == 0 && inDriver == 0, nil
	})
	return result.Drain{Quiet: quiet, TookMS: milliseconds(time.Since(start)), Backlog: backlog, Outq: outq}, err
}

// waitCounters waits until every slave's own counter has what its qdisc sent, at most as long as it is known to lag.
func (m *measurement) waitCounters(ctx context.Context, before *reading) error {
	var lag time.Duration
	for i, s := range m.place.state.Slaves {
		if !m.completes[i] {
			lag = max(lag, result.CounterLag(s.Driver))
		}
	}
	var now reading
	for deadline := time.Now().Add(lag); time.Now().Before(deadline); {
		if err := m.path.read(&now); err != nil {
			return err
		}
		if m.path.counted(before, &now) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// untilQuiet asks every 10 ms until the answer has been yes for the settle time, at most drainLimit long.
func untilQuiet(ctx context.Context, ask func() (bool, error)) (bool, error) {
	deadline := time.Now().Add(drainLimit)
	since := time.Now()
	for {
		yes, err := ask()
		if err != nil {
			return false, err
		}
		now := time.Now()
		if !yes {
			since = now
		}
		if now.Sub(since) >= settle {
			return true, nil
		}
		if now.After(deadline) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
