package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/guestproto"
)

// host is the other end of a server under test.
type host struct {
	t    *testing.T
	conn net.Conn
	in   *guestproto.Reader
	out  *guestproto.Writer
	died chan error
	said chan string
	end  chan error
}

func serve(t *testing.T, handlers map[string]Handler) *host {
	t.Helper()
	ours, theirs := net.Pipe()
	deadline := time.Now().Add(30 * time.Second)
	if err := ours.SetDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, conn: ours, in: guestproto.NewReader(ours), out: guestproto.NewWriter(ours),
		died: make(chan error, 1), said: make(chan string, 10), end: make(chan error, 1)}
	s := &server{in: guestproto.NewReader(theirs), out: guestproto.NewWriter(theirs), handlers: handlers,
		say: func(f string, a ...any) { h.said <- fmt.Sprintf(f, a...) },
		die: func(err error) { h.died <- err; theirs.Close() }}
	go func() { h.end <- s.serve(t.Context()) }()
	t.Cleanup(func() {
		ours.Close()
		<-h.end
	})
	return h
}

func (h *host) send(e guestproto.Envelope) {
	h.t.Helper()
	if err := h.out.Write(e); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) receive() guestproto.Envelope {
	h.t.Helper()
	e, err := h.in.Read()
	if err != nil {
		h.t.Fatal(err)
	}
	return e
}

func callOf(id uint64, kind string) guestproto.Envelope {
	return guestproto.Envelope{Type: guestproto.TypeCall, ID: id, Kind: kind}
}

func wait(ctx context.Context, _ json.RawMessage, notify func(string, any)) (any, error) {
	notify("begun", nil)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestCallNotesAndReply(t *testing.T) {
	h := serve(t, map[string]Handler{"double": func(_ context.Context, body json.RawMessage, notify func(string, any)) (any, error) {
		var n int
		if err := json.Unmarshal(body, &n); err != nil {
			return nil, err
		}
		notify("half", n)
		return 2 * n, nil
	}})
	c := callOf(5, "double")
	c.Body = json.RawMessage("21")
	h.send(c)
	if e := h.receive(); e.Type != guestproto.TypeNote || e.ID != 5 || e.Kind != "half" || string(e.Body) != "21" {
		t.Errorf("note %+v", e)
	}
	if e := h.receive(); e.Type != guestproto.TypeReply || e.ID != 5 || string(e.Body) != "42" || e.Error != "" {
		t.Errorf("reply %+v", e)
	}
	h.send(callOf(6, "double"))
	if e := h.receive(); e.ID != 6 || e.Error == "" || e.Cancelled {
		t.Errorf("reply to a call without a body: %+v", e)
	}
	h.send(callOf(7, "triple"))
	if e := h.receive(); e.ID != 7 || !strings.Contains(e.Error, `"triple"`) {
		t.Errorf("reply to an unknown call: %+v", e)
	}
}

func TestSecondCallIsRefusedAndCancelEndsTheFirst(t *testing.T) {
	h := serve(t, map[string]Handler{"wait": wait})
	h.send(callOf(1, "wait"))
	h.receive() // begun
	h.send(callOf(2, "wait"))
	if e := h.receive(); e.ID != 2 || !strings.Contains(e.Error, "one call at a time") {
		t.Errorf("reply to the second call: %+v", e)
	}
	h.send(guestproto.Envelope{Type: guestproto.TypeCancel, ID: 99}) // of no call
	h.send(guestproto.Envelope{Type: guestproto.TypeCancel, ID: 1})
	if e := h.receive(); e.ID != 1 || e.Error != context.Canceled.Error() || !e.Cancelled {
		t.Errorf("reply to the cancelled call: %+v", e)
	}
	h.send(callOf(3, "wait"))
	if e := h.receive(); e.ID != 3 || e.Type != guestproto.TypeNote {
		t.Errorf("the next call: %+v", e)
	}
}

func TestCallEndsAtItsDeadline(t *testing.T) {
	h := serve(t, map[string]Handler{"wait": wait})
	c := callOf(1, "wait")
	c.TimeoutMS = 20
	h.send(c)
	h.receive() // begun
	if e := h.receive(); e.Error != context.DeadlineExceeded.Error() || !e.Cancelled {
		t.Errorf("reply %+v", e)
	}
}

func TestPanicIsToldAndEndsTheGuest(t *testing.T) {
	h := serve(t, map[string]Handler{"boom": func(context.Context, json.RawMessage, func(string, any)) (any, error) {
		panic("boom")
	}})
	h.send(callOf(4, "boom"))
	if e := h.receive(); e.Type != guestproto.TypePanic || e.ID != 4 || !strings.Contains(e.Error, "boom") || !strings.Contains(e.Error, "serve_test.go") {
		t.Errorf("message %+v", e)
	}
	if err := <-h.died; !strings.Contains(err.Error(), "panic in boom") {
		t.Errorf("died of %v", err)
	}
}

func TestDamagedCallIsSaidAndPassedOver(t *testing.T) {
	h := serve(t, map[string]Handler{"echo": echo})
	var frame strings.Builder
	if err := guestproto.NewWriter(&frame).Write(callOf(1, "echo")); err != nil {
		t.Fatal(err)
	}
	b := []byte(frame.String())
	b[len(b)-2] ^= 1
	if _, err := h.conn.Write(b); err != nil {
		t.Fatal(err)
	}
	if said := <-h.said; !strings.Contains(said, "damaged") {
		t.Errorf("said %q", said)
	}
	c := callOf(2, "echo")
	c.Body = json.RawMessage(`{"a":1}`)
	h.send(c)
	if e := h.receive(); e.ID != 2 || string(e.Body) != `{"a":1}` {
		t.Errorf("reply %+v", e)
	}
}

func TestEndOfTheChannelEndsTheCall(t *testing.T) {
	ours, theirs := net.Pipe()
	ended := make(chan struct{})
	s := &server{in: guestproto.NewReader(theirs), out: guestproto.NewWriter(io.Discard), die: func(error) {},
		handlers: map[string]Handler{"wait": func(ctx context.Context, _ json.RawMessage, _ func(string, any)) (any, error) {
			<-ctx.Done()
			close(ended)
			return nil, nil
		}}}
	done := make(chan error)
	go func() { done <- s.serve(t.Context()) }()
	if err := guestproto.NewWriter(ours).Write(callOf(1, "wait")); err != nil {
		t.Fatal(err)
	}
	ours.Close()
	if err := <-done; err == nil {
		t.Error("serve returned no error")
	}
	<-ended
}

func echo(_ context.Context, body json.RawMessage, _ func(string, any)) (any, error) {
	return body, nil
}
