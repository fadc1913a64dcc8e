package counters

// Options holds the options of a qdisc of a kind that is decoded: exactly one field is set. mq has no options.
// Names and units of the JSON are those of `tc -j qdisc show` (iproute2 6.1).
type Options struct {
	PfifoFast *PfifoFast `json:"pfifo_fast,omitempty"`
	TBF       *TBF       `json:"tbf,omitempty"`
	Netem     *Netem     `json:"netem,omitempty"`
}

// kind is the field that is set.
func (o *Options) kind() interface{ appendText([]byte) []byte } {
	switch {
	case o == nil:
		return none{}
	case o.PfifoFast != nil:
		return o.PfifoFast
	case o.TBF != nil:
		return o.TBF
	case o.Netem != nil:
		return o.Netem
	}
	return none{}
}

// none is the options of a kind that has none or whose options are not decoded: {} in JSON, as tc prints it.
type none struct{}

func (none) appendText(dst []byte) []byte { return dst }

// PfifoFast is struct tc_prio_qopt.
type PfifoFast struct {
	Bands      int       `json:"bands"`
	Priomap    [16]uint8 `json:"priomap"` // band of each skb priority, modulo 16
	Multiqueue bool      `json:"multiqueue"`
}

// TBF is struct tc_tbf_qopt. tc prints neither Peakrate nor Limit as JSON.
type TBF struct {
	Rate      uint64 `json:"rate"`               // bytes/s
	Burst     uint32 `json:"burst"`              // bytes, as exact as the kernel's ticks of 64 ns and tc's whole µs allow
	Peakrate  uint64 `json:"peakrate,omitempty"` // bytes/s
	Minburst  uint32 `json:"minburst,omitempty"` // bytes at Peakrate
	Latency   *int64 `json:"lat,omitempty"`      // µs a packet waits at most; nil when Limit is less than Burst
	Limit     uint32 `json:"limit"`              // bytes
	Overhead  int    `json:"overhead,omitempty"` // bytes a packet
	Linklayer string `json:"linklayer,omitempty"`
}

// Netem is struct tc_netem_qopt and the attributes that follow it. Fractions are of 1, times seconds in whole µs.
type Netem struct {
	Limit       uint32        `json:"limit"` // packets
	Delay       *NetemDelay   `json:"delay,omitempty"`
	Loss        *NetemLoss    `json:"loss-random,omitempty"`
	LossState   *NetemState   `json:"loss-state,omitempty"`
	LossGEmodel *NetemGE      `json:"loss-gemodel,omitempty"`
	Duplicate   *NetemDup     `json:"duplicate,omitempty"`
	Reorder     *NetemReorder `json:"reorder,omitempty"`
	Corrupt     *NetemCorrupt `json:"corrupt,omitempty"`
	Rate        *NetemRate    `json:"rate,omitempty"`
	Slot        *NetemSlot    `json:"slot,omitempty"`
	ECN         bool          `json:"ecn"`
	Gap         uint32        `json:"gap"` // packets
}

// NetemDelay is the delay of each packet.
type NetemDelay struct {
	Delay       float64 `json:"delay"`  // s
	Jitter      float64 `json:"jitter"` // s
	Correlation float64 `json:"correlation"`
}

// NetemLoss is loss by an even chance.
type NetemLoss struct {
	Loss        float64 `json:"loss"`
	Correlation float64 `json:"correlation"`
}

// NetemState is loss by a chain of four states.
type NetemState struct {
	P13 float64 `json:"p13"`
	P31 float64 `json:"p31"`
	P32 float64 `json:"p32"`
	P23 float64 `json:"p23"`
	P14 float64 `json:"p14"`
}

// NetemGE is loss by the model of Gilbert and Elliot.
type NetemGE struct {
	P         float64 `json:"p"`
	R         float64 `json:"r"`
	OneMinusH float64 `json:"1-h"`
	OneMinusK float64 `json:"1-k"`
}

// NetemDup is duplication.
type NetemDup struct {
	Duplicate   float64 `json:"duplicate"`
	Correlation float64 `json:"correlation"`
}

// NetemReorder is the share of packets that are sent without delay.
type NetemReorder struct {
	Reorder     float64 `json:"reorder"`
	Correlation float64 `json:"correlation"`
}

// NetemCorrupt is the share of packets that get a bit error.
type NetemCorrupt struct {
	Corrupt     float64 `json:"corrupt"`
	Correlation float64 `json:"correlation"`
}

// NetemRate is the line netem imitates.
type NetemRate struct {
	Rate           uint64 `json:"rate"`           // bytes/s
	PacketOverhead int32  `json:"packetoverhead"` // bytes
	CellSize       uint32 `json:"cellsize"`       // bytes
	CellOverhead   int32  `json:"celloverhead"`   // bytes
}

// NetemSlot is a line that sends in slots, of a distribution or between two delays.
type NetemSlot struct {
	Distribution *float64 `json:"distribution,omitempty"` // s
	Jitter       *float64 `json:"jitter,omitempty"`       // s
	MinDelay     *float64 `json:"min-delay,omitempty"`    // s
	MaxDelay     *float64 `json:"max-delay,omitempty"`    // s
	Packets      int32    `json:"packets"`
	Bytes        int32    `json:"bytes"`
}
