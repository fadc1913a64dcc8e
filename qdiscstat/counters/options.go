package counters

// Options holds the options of a qdisc, of the kinds that are decoded. At most one field is set; mq has no
// options at all.
type Options struct {
	PfifoFast *PfifoFast `json:"pfifo_fast,omitempty"`
	TBF       *TBF       `json:"tbf,omitempty"`
	Netem     *Netem     `json:"netem,omitempty"`
}

func (o *Options) appendText(dst []byte) []byte { return dst }

type PfifoFast struct{}
type TBF struct{}
type Netem struct{}
