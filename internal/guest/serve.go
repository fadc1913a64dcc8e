package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"bondrepro/internal/guestproto"
)

// server does the host's calls. It is apart from the machine so that it can be tested over a pipe.
type server struct {
	in       *guestproto.Reader
	out      *guestproto.Writer
	handlers map[string]Handler
	say      func(format string, args ...any) // to the console
	die      func(error)                      // ends the machine

	mu      sync.Mutex
	running map[uint64]context.CancelFunc
}

// serve reads calls until the stream ends. One call runs at a time: a second one is refused, a cancel is heard
// while one runs. It returns when the stream ends, after the running call was cancelled and has ended.
func (s *server) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	s.running = map[uint64]context.CancelFunc{}
	for {
		e, err := s.in.Read()
		if errors.Is(err, guestproto.ErrDamaged) {
			s.say("%v", err) // the host misses its reply and says so; the console has the reason
			continue
		}
		if err != nil {
			return fmt.Errorf("the guest channel ended: %w", err)
		}
		switch e.Type {
		case guestproto.TypeCall:
			callCtx, ok := s.begin(ctx, e)
			if !ok {
				s.reply(guestproto.Envelope{ID: e.ID, Error: "the guest does one call at a time, and one is running"})
				continue
			}
			calls.Go(func() { s.call(callCtx, e) })
		case guestproto.TypeCancel:
			s.end(e.ID)
		}
	}
}

// begin registers a call; false when another one runs.
func (s *server) begin(ctx context.Context, e guestproto.Envelope) (context.Context, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) > 0 {
		return nil, false
	}
	cancel := context.CancelFunc(nil)
	if e.TimeoutMS > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(e.TimeoutMS)*time.Millisecond)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	s.running[e.ID] = cancel
	return ctx, true
}

// end cancels a call; its goroutine still replies.
func (s *server) end(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.running[id]; cancel != nil {
		cancel()
	}
}

// finished makes room for the next call. It comes before the reply: the host may call again at once.
func (s *server) finished(id uint64) {
	s.end(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, id)
}

func (s *server) call(ctx context.Context, e guestproto.Envelope) {
	defer func() {
		if v := recover(); v != nil {
			what := fmt.Sprintf("%v\n\n%s", v, debug.Stack())
			// The reply's fate does not matter: the console gets it too.
			_ = s.out.Write(guestproto.Envelope{Type: guestproto.TypePanic, ID: e.ID, Kind: e.Kind, Error: what})
			s.die(fmt.Errorf("panic in %s: %s", e.Kind, what))
		}
	}()
	body, err := s.handle(ctx, e)
	cancelled := ctx.Err() != nil
	s.finished(e.ID)
	if err != nil {
		s.reply(guestproto.Envelope{ID: e.ID, Error: err.Error(), Cancelled: cancelled})
		return
	}
	s.reply(guestproto.Envelope{ID: e.ID, Body: body})
}

func (s *server) handle(ctx context.Context, e guestproto.Envelope) (json.RawMessage, error) {
	h := s.handlers[e.Kind]
	if h == nil {
		return nil, fmt.Errorf("the guest knows no call %q", e.Kind)
	}
	v, err := h(ctx, e.Body, func(kind string, v any) {
		body, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("note %s of %s: %v", kind, e.Kind, err)) // a type that has no JSON is a fault of ours
		}
		s.send(guestproto.Envelope{Type: guestproto.TypeNote, ID: e.ID, Kind: kind, Body: body})
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func (s *server) reply(e guestproto.Envelope) {
	e.Type = guestproto.TypeReply
	s.send(e)
}

// send writes to the host. Without the channel the guest is of no use.
func (s *server) send(e guestproto.Envelope) {
	if err := s.out.Write(e); err != nil {
		s.die(err)
	}
}
