package workload

// kind is what the threads of a workload do, and whose counts say what arrived.
type kind struct {
	client, server func(m *measurement, i int) loop
	oneWay         bool // payload arrives at the server only, and there are no transactions
}

var kinds = map[Kind]kind{
	Stream: {
		client: func(m *measurement, _ int) loop { return sendStream(m.spec.Write) },
		server: func(*measurement, int) loop { return receiveStream() },
		oneWay: true,
	},
	RR: {
		client: func(m *measurement, i int) loop { return m.ask(i, m.exchange(i)) },
		server: func(m *measurement, _ int) loop {
			if m.spec.Protocol == OverUDP {
				return answerDatagram(m.spec.Request, m.spec.Response)
			}
			return answerStream(m.spec.Request, m.spec.Response)
		},
	},
	Mixed: {
		client: func(m *measurement, i int) loop { return m.ask(i, askMixed(i)) },
		server: func(*measurement, int) loop { return answerMixed() },
	},
	UDP: {
		client: func(m *measurement, i int) loop {
			return sendDatagrams(m.spec.Payload, period(m.spec.Rate, m.spec.Payload, m.spec.Connections), m.lost[i])
		},
		server: func(m *measurement, _ int) loop { return receiveDatagrams(m.spec.Payload) },
		oneWay: true,
	},
}

func (m *measurement) exchange(i int) exchange {
	if m.spec.Protocol == OverUDP {
		return askDatagram(m.spec.Request, m.spec.Response, m.lost[i])
	}
	return askStream(m.spec.Request, m.spec.Response)
}

func (m *measurement) ask(i int, one exchange) loop {
	m.histograms[i] = newHistogram()
	return ask(one, m.histograms[i])
}
