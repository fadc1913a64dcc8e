package traffic

import (
	"fmt"
	"math"

	"bondrepro/internal/stamp"
	"bondrepro/scenarios"
)

// checkTraffic refuses what no socket option would.
func checkTraffic(t scenarios.Traffic) error {
	for _, c := range []struct {
		field string
		value int
		low   int
		high  int
	}{
		{"traffic.senders", int(t.Senders), 1, math.MaxUint16},
		{"traffic.batch", t.Batch, 1, 1024}, // UIO_MAXIOV: sendmmsg(2) sends no more at once
		{"traffic.port", t.Port, 1, math.MaxUint16},
		{"traffic.burst.packets", t.Burst.Packets, 0, math.MaxInt32},
	} {
		if c.value < c.low || c.value > c.high {
			return &OptionError{Field: c.field, Value: fmt.Sprint(c.value), Why: fmt.Sprintf("it must be %d to %d", c.low, c.high)}
		}
	}
	if len(t.Groups) == 0 {
		return &OptionError{Field: "traffic.groups", Value: "an empty list", Why: "at least one group is needed"}
	}
	if bool(t.Socket.ZeroCopy) && t.Batch > 1 {
		return &OptionError{Field: "traffic.batch", Value: fmt.Sprint(t.Batch),
			Why: "with zerocopy it must be 1, as a batch that ends short does not tell which buffers the kernel still uses"}
	}
	if err := checkBurst(t); err != nil {
		return err
	}
	return checkPayload(t)
}

// checkBurst refuses bursts that have no schedule.
func checkBurst(t scenarios.Traffic) error {
	segments := max(int(t.Socket.GSO), 1)
	switch b := t.Burst; {
	case b.Packets > 0 && b.Every <= 0:
		return &OptionError{Field: "traffic.burst.every", Value: b.Every.String(), Why: "it must be more than 0"}
	case b.Packets%segments != 0:
		return &OptionError{Field: "traffic.burst.packets", Value: fmt.Sprint(b.Packets),
			Why: fmt.Sprintf("a burst is whole sends, and traffic.socket.gso makes each send %d packets", segments)}
	}
	return nil
}

// checkPayload refuses what can't hold a header or is no UDP datagram.
func checkPayload(t scenarios.Traffic) error {
	limit := familyOf(t).maxDatagram
	segments := max(int(t.Socket.GSO), 1)
	value := fmt.Sprint(t.Payload)
	switch {
	case t.Payload < stamp.Size:
		return &OptionError{Field: "traffic.payload", Value: value, Why: fmt.Sprintf("the header of each payload takes %d bytes", stamp.Size)}
	case t.Payload*segments > limit:
		return &OptionError{Field: "traffic.payload", Value: value,
			Why: fmt.Sprintf("a send of %d segments is %d bytes, and UDP takes at most %d", segments, t.Payload*segments, limit)}
	}
	return nil
}
