package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bondrepro/internal/guestproto"
)

// cancelLimit is how long a guest may take to reply after its call was cancelled.
const cancelLimit = 5 * time.Second

// call is a call that waits for its reply.
type call struct {
	id     uint64
	notes  func(kind string, body json.RawMessage)
	reply  chan guestproto.Envelope // takes one
	failed chan error               // takes one
}

// Call asks the guest to do kind with in, and puts its reply into out, which may be nil. onNotify, which may be
// nil, gets the handler's notes in order, on a goroutine of the machine: it must not call the machine.
// ctx's deadline is the handler's too. When ctx ends the call is cancelled in the guest, and its reply is waited
// for a little.
//
// The error is a *CallError when the handler failed; ctx's; ErrClosed; or why the machine is dead: *KernelError
// (also when the guest fell silent), *GuestError, *QEMUError.
func (m *Machine) Call(ctx context.Context, kind string, in, out any, onNotify func(kind string, body json.RawMessage)) error {
	m.calling.Lock()
	defer m.calling.Unlock()
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("call %s in the guest: %w", kind, err)
	}
	c := m.register(onNotify)
	defer m.unregister()
	request := guestproto.Envelope{Type: guestproto.TypeCall, ID: c.id, Kind: kind, Body: body}
	if deadline, ok := ctx.Deadline(); ok {
		request.TimeoutMS = max(1, time.Until(deadline).Milliseconds())
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.send(request); err != nil {
		return err
	}
	reply, err := m.await(ctx, c, kind)
	if err != nil {
		return err
	}
	switch {
	case reply.Error == "":
	case reply.Cancelled && ctx.Err() != nil:
		return ctx.Err()
	case reply.Cancelled: // the guest's clock is a little ahead of ours
		return context.DeadlineExceeded
	default:
		return &CallError{Kind: kind, Text: reply.Error}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(reply.Body, out); err != nil {
		return fmt.Errorf("read the guest's reply to %s: %w", kind, err)
	}
	return nil
}

func (m *Machine) register(notes func(string, json.RawMessage)) *call {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nextID++
	m.current = &call{id: m.nextID, notes: notes, reply: make(chan guestproto.Envelope, 1), failed: make(chan error, 1)}
	return m.current
}

func (m *Machine) unregister() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = nil
}

// send writes to the guest. A channel that fails has a dead QEMU behind it, whose end says more.
func (m *Machine) send(e guestproto.Envelope) error {
	err := m.channel.SetWriteDeadline(time.Now().Add(m.config.HangAfter))
	if err == nil {
		err = m.out.Write(e)
	}
	if err == nil {
		return nil
	}
	select {
	case <-m.dead:
		return m.deadErr
	case <-time.After(cancelLimit):
		return fmt.Errorf("call %s in the guest: %w", e.Kind, err)
	}
}

// await waits for the reply and watches over the guest meanwhile. Silence is counted in ticks of our own, so
// that a stopped host does not take its guest for dead.
func (m *Machine) await(ctx context.Context, c *call, kind string) (guestproto.Envelope, error) {
	const tick = time.Second
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var (
		silent   time.Duration
		heard    = m.heard.Load()
		done     = ctx.Done()
		overtime <-chan time.Time
	)
	for {
		select {
		case reply := <-c.reply:
			return reply, nil
		case err := <-c.failed:
			return guestproto.Envelope{}, fmt.Errorf("call %s in the guest: %w", kind, err)
		case <-m.dead:
			return guestproto.Envelope{}, m.deadErr
		case <-done:
			done = nil
			overtime = time.After(cancelLimit)
			if err := m.send(guestproto.Envelope{Type: guestproto.TypeCancel, ID: c.id}); err != nil {
				return guestproto.Envelope{}, errors.Join(context.Cause(ctx), err)
			}
		case <-overtime:
			if errors.Is(ctx.Err(), context.Canceled) {
				m.die(ctx.Err()) // the guest is still at it: no other call can be done
				return guestproto.Envelope{}, context.Cause(ctx)
			}
			return guestproto.Envelope{}, m.hung(fmt.Sprintf("hung: %s did not end in time, nor %v after it was cancelled", kind, cancelLimit))
		case <-ticker.C:
			if now := m.heard.Load(); now != heard {
				heard, silent = now, 0
				continue
			}
			if silent += tick; silent >= m.config.HangAfter {
				return guestproto.Envelope{}, m.hung(fmt.Sprintf("hung: no word for %v during %s", silent, kind))
			}
		}
	}
}

// hung gives the machine up. A panic that did not end it explains the silence better.
func (m *Machine) hung(reason string) error {
	c := m.console.state()
	if c.panic != "" {
		reason = failure(c)
	}
	m.die(&KernelError{Reason: reason, Console: c.tail})
	return m.deadErr
}

// deliver hands a note or a reply to the call it belongs to.
func (m *Machine) deliver(e guestproto.Envelope) {
	m.mu.Lock()
	c := m.current
	m.mu.Unlock()
	switch {
	case c == nil || c.id != e.ID: // of a call that was given up
	case e.Type == guestproto.TypeReply:
		select {
		case c.reply <- e:
		default: // a second reply
		}
	case c.notes != nil:
		c.notes(e.Kind, e.Body)
	}
}

// fail ends the current call with err.
func (m *Machine) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current == nil {
		return
	}
	select {
	case m.current.failed <- err:
	default:
	}
}
