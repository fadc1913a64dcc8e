package workload

// outcome makes the figures from the counts at both ends of what was measured.
func (m *measurement) outcome(before, after reading) (Outcome, error) {
	o := Outcome{Kind: m.spec.Kind, Seconds: after.at.Sub(before.at).Seconds(), Connections: len(m.pairs)}
	oneWay := kinds[m.spec.Kind].oneWay
	from, to := before.sent, after.sent
	if oneWay {
		from, to = before.received, after.received
	}
	for i := range m.pairs {
		bytes := to[i].bytes - from[i].bytes
		if bytes == 0 {
			o.Idle++
		}
		o.Bytes += bytes
		if !oneWay {
			o.Transactions += to[i].operations - from[i].operations
		}
	}
	if o.Bytes == 0 {
		return Outcome{}, ErrNothing
	}
	o.Throughput = 8 * float64(o.Bytes) / o.Seconds
	if !oneWay {
		o.Latency = latency(m.histograms, len(m.pairs), o.Seconds, o.Transactions)
	}
	if m.spec.datagrams() {
		o.Datagrams = m.datagrams(before, after, o.Seconds)
	}
	return o, m.processors(&o, before, after)
}

func (m *measurement) datagrams(before, after reading, seconds float64) *Datagrams {
	var d Datagrams
	var lost uint64
	for _, l := range m.lost {
		lost += l.n.Load()
		d.Sent += l.asked
	}
	if m.spec.Kind == RR {
		d.Received, d.Lost = m.sent(), lost
		return &d
	}
	d.Sent, d.Received, d.Refused = m.sent(), m.received(), lost
	d.Lost = d.Sent - min(d.Sent, d.Received)
	var offered uint64
	for i := range before.sent {
		offered += after.sent[i].operations - before.sent[i].operations
	}
	d.Offered = 8 * float64(offered) * float64(m.spec.Payload) / seconds
	return &d
}

// processors adds the CPU time of each side and of the machine.
func (m *measurement) processors(o *Outcome, before, after reading) error {
	between := func(cpus []int) (*Shared, error) {
		from, err := sumCPUs(before.stat, cpus)
		if err != nil {
			return nil, err
		}
		to, err := sumCPUs(after.stat, cpus)
		return shared(to.minus(from)), err
	}
	var err error
	if o.Machine, err = between(nil); err != nil {
		return err
	}
	o.Client, o.Server = threads(m.clients), threads(m.servers)
	if !m.spec.pinnedApart() {
		return nil
	}
	if o.Client.Shared, err = between(m.spec.ClientCPUs); err != nil {
		return err
	}
	o.Server.Shared, err = between(m.spec.ServerCPUs)
	return err
}

// threads adds up the CPU time of workers that have ended.
func threads(ws []*worker) *CPU {
	var c CPU
	for _, w := range ws {
		c.User += cpuSeconds(w.begin.Utime, w.end.Utime)
		c.System += cpuSeconds(w.begin.Stime, w.end.Stime)
	}
	return &c
}
