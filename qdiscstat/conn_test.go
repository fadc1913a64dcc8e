package qdiscstat

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/qdiscstat/counters"

	"golang.org/x/sys/unix"
)

// fakeKernel is a Conn whose other end answers each request in turn with the datagrams given: the same code path
// as a real one. In each message of an answer the sequence number seqHere becomes that of the request.
func fakeKernel(t *testing.T, answers ...[][]byte) *Conn {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { unix.Shutdown(pair[1], unix.SHUT_RDWR); <-done })
	limit := unix.NsecToTimeval(int64(waitLimit))
	must(t, unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit))
	go func() {
		defer close(done)
		defer unix.Close(pair[1])
		request := make([]byte, 512)
		for _, answer := range answers {
			n, err := unix.Read(pair[1], request)
			if err != nil || n < nlmsgHeader {
				return
			}
			for _, datagram := range answer {
				b := append([]byte(nil), datagram...)
				for rest := b; len(rest) >= nlmsgHeader; {
					if native.Uint32(rest[8:]) == seqHere {
						copy(rest[8:12], request[8:12])
					}
					rest = rest[min(max(nlmsgHeader, align4(int(native.Uint32(rest)))), len(rest)):]
				}
				if _, err := unix.Write(pair[1], b); err != nil {
					return
				}
			}
		}
		_, _ = unix.Read(pair[1], request) // stay until the test ends
	}()
	c := &Conn{fd: pair[0], buf: make([]byte, bufferSize), kinds: interner{}, names: map[int]name{}}
	t.Cleanup(func() { c.Close() })
	return c
}

const seqHere = 0xfeedf00d

// message is one netlink message.
func message(msgType, flags uint16, seq uint32, payload []byte) []byte {
	b := make([]byte, align4(nlmsgHeader+len(payload)))
	native.PutUint32(b, uint32(nlmsgHeader+len(payload)))
	native.PutUint16(b[4:], msgType)
	native.PutUint16(b[6:], flags)
	native.PutUint32(b[8:], seq)
	copy(b[nlmsgHeader:], payload)
	return b
}

func join(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// attr is one attribute, padded.
func attr(typ uint16, data []byte) []byte {
	b := make([]byte, align4(attrHeader+len(data)))
	native.PutUint16(b, uint16(attrHeader+len(data)))
	native.PutUint16(b[2:], typ)
	copy(b[attrHeader:], data)
	return b
}

func words(w ...uint32) (b []byte) {
	for _, v := range w {
		b = native.AppendUint32(b, v)
	}
	return b
}

func int32s(v int32) []byte { return native.AppendUint32(nil, uint32(v)) }

// qdisc is the payload of an RTM_NEWQDISC message.
func qdisc(ifindex uint32, kind string, attrs ...[]byte) []byte {
	head := words(0, ifindex, 0x10000, counters.HandleRoot, 2)
	return join(head, attr(unix.TCA_KIND, append([]byte(kind), 0)), join(attrs...))
}

const multi = unix.NLM_F_MULTI

var done = message(unix.NLMSG_DONE, multi, seqHere, int32s(0))

func kinds(qs []counters.Qdisc) (s string) {
	for _, q := range qs {
		s += q.Kind + " "
	}
	return s
}

func TestDumpInParts(t *testing.T) {
	c := fakeKernel(t, [][]byte{
		join(message(unix.RTM_NEWQDISC, multi, seqHere, qdisc(1, "tbf")), message(unix.RTM_NEWQDISC, multi, seqHere, qdisc(2, "fq"))),
		message(unix.RTM_NEWQDISC, multi, seqHere, qdisc(3, "pie")),
		done,
	}, [][]byte{
		join(message(unix.RTM_NEWQDISC, multi, seqHere, qdisc(2, "fq")), message(unix.RTM_NEWQDISC, multi, seqHere, qdisc(3, "pie")), done),
	})
	qs, err := c.Qdiscs(nil)
	if err != nil || kinds(qs) != "tbf fq pie " {
		t.Fatalf("%v, %v", kinds(qs), err)
	}
	qs, err = c.Of(qs, 3)
	if err != nil || kinds(qs) != "tbf fq pie pie " {
		t.Errorf("of one interface, appended: %v, %v", kinds(qs), err)
	}
}

// An interrupted dump is read to its end, gives nothing, and leaves the socket fit for the next one.
func TestInterrupted(t *testing.T) {
	for _, flagged := range []int{0, 1} {
		parts := [][]byte{message(unix.RTM_NEWQDISC, multi, seqHere, qdisc(1, "tbf")), done}
		parts[flagged] = append([]byte(nil), parts[flagged]...)
		native.PutUint16(parts[flagged][6:], multi|unix.NLM_F_DUMP_INTR)
		c := fakeKernel(t, parts, [][]byte{message(unix.RTM_NEWQDISC, multi, seqHere, qdisc(1, "tbf")), done})

		kept := []counters.Qdisc{{Kind: "kept"}}
		qs, err := c.Qdiscs(kept)
		if !errors.Is(err, ErrInterrupted) || kinds(qs) != "kept " {
			t.Errorf("part %d flagged: %v, %v", flagged, kinds(qs), err)
		}
		if qs, err = c.Qdiscs(nil); err != nil || kinds(qs) != "tbf " {
			t.Errorf("the dump after: %v, %v", kinds(qs), err)
		}
	}
}

// Late messages of an earlier request are not taken for the answer.
func TestStaleAnswer(t *testing.T) {
	c := fakeKernel(t, [][]byte{
		message(unix.RTM_NEWQDISC, multi, 12345, qdisc(9, "stale")),
		message(unix.NLMSG_DONE, multi, 12345, int32s(0)),
		message(unix.RTM_NEWQDISC, multi, seqHere, qdisc(1, "tbf")),
		done,
	})
	if qs, err := c.Qdiscs(nil); err != nil || kinds(qs) != "tbf " {
		t.Errorf("%v, %v", kinds(qs), err)
	}
}

// One qdisc that makes no sense hides no other.
func TestUndecodable(t *testing.T) {
	broken := qdisc(2, "broken")
	native.PutUint16(broken[tcmsgLen:], 0xfff0) // an attribute longer than the message
	c := fakeKernel(t, [][]byte{
		message(unix.RTM_NEWQDISC, multi, seqHere, qdisc(1, "tbf")),
		message(unix.RTM_NEWQDISC, multi, seqHere, broken),
		message(unix.RTM_NEWQDISC, multi, seqHere, []byte{1, 2, 3}),
		message(unix.RTM_NEWQDISC, multi, seqHere, qdisc(3, "pie")),
		done,
	})
	if qs, err := c.Qdiscs(nil); err != nil || kinds(qs) != "tbf  pie " {
		t.Errorf("%q, %v", kinds(qs), err)
	}
}

func TestKernelError(t *testing.T) {
	words := attr(unix.NLMSGERR_ATTR_MSG, []byte("Specified thing not found\x00"))
	request := make([]byte, nlmsgHeader+tcmsgLen)
	native.PutUint32(request, uint32(len(request)))
	for name, answer := range map[string][]byte{
		"whole request": message(unix.NLMSG_ERROR, unix.NLM_F_ACK_TLVS, seqHere, join(int32s(-int32(unix.ENODEV)), request, words)),
		"capped":        message(unix.NLMSG_ERROR, unix.NLM_F_ACK_TLVS|unix.NLM_F_CAPPED, seqHere, join(int32s(-int32(unix.ENODEV)), request[:nlmsgHeader], words)),
		"end of dump":   message(unix.NLMSG_DONE, multi|unix.NLM_F_ACK_TLVS, seqHere, join(int32s(-int32(unix.ENODEV)), words)),
	} {
		_, err := fakeKernel(t, [][]byte{answer}).Qdiscs(nil)
		const want = "dump qdiscs: no such device (Specified thing not found)"
		if err == nil || err.Error() != want || !errors.Is(err, syscall.ENODEV) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	_, err := fakeKernel(t, [][]byte{message(unix.NLMSG_ERROR, unix.NLM_F_ACK_TLVS, seqHere, int32s(-int32(unix.EPERM)))}).Qdiscs(nil)
	if err == nil || err.Error() != "dump qdiscs: operation not permitted" {
		t.Errorf("without words: %v", err)
	}
}

// A kernel that does not answer costs waitLimit, not for ever.
func TestNoAnswer(t *testing.T) {
	_, err := fakeKernel(t, [][]byte{}).Qdiscs(nil)
	if !errors.Is(err, ErrTimeout) {
		t.Errorf("err = %v, want ErrTimeout", err)
	}
}

func TestGarbage(t *testing.T) {
	for name, datagram := range map[string][]byte{
		"length beyond the datagram": words(500, 0, seqHere, 0),
		"length below a header":      words(3, 0, seqHere, 0),
		"more than the buffer":       make([]byte, bufferSize+1),
	} {
		_, err := fakeKernel(t, [][]byte{datagram}).Qdiscs(nil)
		if err == nil || !strings.Contains(err.Error(), "the kernel sent") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Statistics as kernels of different ages send them.
func TestStats(t *testing.T) {
	basic := attr(statsBasic, words(1000, 1, 50, 0)) // u64 bytes 1<<32 + 1000
	queue := attr(statsQueue, words(1, 2, 3, 4, 5))
	pkt64 := attr(statsPkt64, words(7, 2))
	full := counters.Qdisc{Bytes: 1<<32 + 1000, Packets: 50, Qlen: 1, Backlog: 2, Drops: 3, Requeues: 4, Overlimits: 5}
	wide := full
	wide.Packets, wide.Packets64 = 2<<32+7, true
	legacy := full
	legacy.Requeues = 0
	short := counters.Qdisc{Bytes: 1<<32 + 1000, Packets: 50, Qlen: 1, Backlog: 2}
	old := attr(unix.TCA_STATS, words(1000, 1, 50, 3, 5, 0, 0, 1, 2, 0))
	for _, c := range []struct {
		name  string
		attrs []byte
		want  counters.Qdisc
	}{
		{"basic and queue", attr(unix.TCA_STATS2, join(basic, queue)), full},
		{"nested flag", attr(unix.TCA_STATS2|unix.NLA_F_NESTED, join(basic, queue)), full},
		{"64-bit packets", attr(unix.TCA_STATS2, join(basic, pkt64, queue)), wide},
		{"64-bit packets of the hardware's share", attr(unix.TCA_STATS2, join(basic, attr(statsBasicHW, words(1, 0, 1, 0)), pkt64, queue)), full},
		{"unknown attributes around", join(attr(77, words(1, 2)), attr(unix.TCA_STATS2, join(attr(99, words(9, 9, 9)), basic, attr(2, words(8, 8)), queue, attr(4, words(6))))), full},
		{"queue of an older kernel", attr(unix.TCA_STATS2, join(basic, attr(statsQueue, words(1, 2)))), short},
		{"queue of a newer kernel", attr(unix.TCA_STATS2, join(basic, attr(statsQueue, words(1, 2, 3, 4, 5, 6, 7)))), full},
		{"legacy only", old, legacy},
		{"both: the newer one", join(old, attr(unix.TCA_STATS2, join(basic, queue))), full},
		{"none", nil, counters.Qdisc{}},
	} {
		got, _, ok := decodeQdisc(qdisc(7, "tbf", c.attrs), interner{})
		want := c.want
		want.Ifindex, want.Kind, want.Handle, want.Parent, want.Refcnt = 7, "tbf", 0x10000, counters.HandleRoot, 2
		if !ok || got != want {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
}

// Actions of several filters are summed; what is no filter of this parent or of a known kind is not.
func TestActionSum(t *testing.T) {
	stats := func(bytes, packets uint32) []byte {
		return attr(actStats, attr(statsBasic, words(bytes, 0, packets, 0)))
	}
	filter := func(ifindex, parent uint32, kind string, options []byte) []byte {
		return message(unix.RTM_NEWTFILTER, multi, seqHere, join(words(0, ifindex, 1, parent, 0),
			attr(unix.TCA_KIND, append([]byte(kind), 0)), attr(unix.TCA_OPTIONS, options)))
	}
	two := attr(actionsOf["matchall"], join(attr(1, join(attr(1, []byte("gact\x00")), stats(100, 1))), attr(2, stats(1000, 10))))
	c := fakeKernel(t, [][]byte{join(
		filter(5, counters.ClsactEgress, "matchall", nil), // the head, without actions
		filter(5, counters.ClsactEgress, "matchall", two),
		filter(5, counters.ClsactEgress, "u32", attr(actionsOf["u32"], attr(1, stats(10000, 100)))),
		filter(5, counters.ClsactEgress, "strange", two),
		filter(5, counters.ClsactIngress, "matchall", two),
		filter(6, counters.ClsactEgress, "matchall", two),
		done)})
	got, err := c.Action(5, counters.ClsactEgress)
	want := counters.Action{Filters: 2, Actions: 3, Bytes: 11100, Packets: 111}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// FuzzDecode feeds any bytes to every decoder. None may panic, and an attribute nobody knows changes nothing.
func FuzzDecode(f *testing.F) {
	eachRecording(f, func(_ string, r recording) {
		for _, msg := range r.messages(f) {
			f.Add(msg)
		}
	})
	f.Add(qdisc(1, "tbf", attr(unix.TCA_STATS, words(1, 2, 3))))
	f.Fuzz(func(t *testing.T, msg []byte) {
		q, options, ok := decodeQdisc(msg, interner{})
		for kind := range optionDecoders {
			q.Options = decodeOptions(kind, options)
			_ = q.Text()
			if _, err := q.AppendJSON(nil, time.Time{}); err != nil {
				t.Errorf("%+v: %v", q, err)
			}
			decodeOptions(kind, msg)
		}
		q.Options = nil
		var sum counters.Action
		addFilter(&sum, msg)
		decodeLink(msg)

		if len(msg) >= tcmsgLen {
			unknown := join(msg[:tcmsgLen], attr(0x3ffe, msg), msg[tcmsgLen:])
			if len(msg) < 0xfff0 {
				again, _, okAgain := decodeQdisc(unknown, interner{})
				if ok != okAgain || q != again {
					t.Errorf("an unknown attribute changed %+v to %+v", q, again)
				}
			}
		}
	})
}
