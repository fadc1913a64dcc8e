package reproducer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"bondrepro/reproducer/result"
)

// The times of the wait for a receiver's file after a run.
const (
	receiverLimit = 5 * time.Second
	receiverPoll  = 50 * time.Millisecond
	// receiverStill is how long the file must not have changed.
	receiverStill = 300 * time.Millisecond
	// receiverPatience is given to an account that does not have all that was sent: a receiver renews its file each second.
	receiverPatience = 2 * time.Second
)

// checkReceiver refuses what would be found out only after the first run. A file that is not there yet is to come.
func checkReceiver(o Options, bed string) error {
	if o.Receiver == "" {
		return nil
	}
	if _, err := readReceiver(o.Receiver); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &UsageError{Err: fmt.Errorf("--receiver %w", err)}
	}
	if bed == testbedVM || bed == testbedNetns {
		return &UsageError{Err: fmt.Errorf("--receiver is for real ports (--testbed host): in the testbed %s the lines end in this program, and no receiver elsewhere can hear them", bed)}
	}
	return nil
}

func readReceiver(name string) (result.ReceiverFile, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return result.ReceiverFile{}, err
	}
	return result.DecodeReceiver(name, data)
}

// attach adds to a recording what the receiver's file has of its run, once that is complete. A run that does not come
// into the file is told in the recording and is no error; the error is ctx's.
func (s *Session) attach(ctx context.Context, rec *result.Recording) error {
	if s.options.Receiver == "" || rec.Failure != "" {
		return nil
	}
	s.options.Progress("waiting for the receiver's account of this run")
	w := wait{name: s.options.Receiver, run: rec.Run, sent: sent(rec), began: time.Now()}
	tick := time.NewTicker(receiverPoll)
	defer tick.Stop()
	for !w.look(time.Now()) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	rec.Receiver = &w.found
	return nil
}

// sent is how many packets may have left: those that no send was told to be dropped.
func sent(rec *result.Recording) (n uint64) {
	for _, x := range rec.Senders {
		n += x.OK
	}
	return n
}

// wait is one wait for the account of a run.
type wait struct {
	name    string
	run     uint32
	sent    uint64
	began   time.Time
	data    []byte // the file when it last changed
	changed time.Time
	found   result.Reception
}

// look reads the file, and tells whether the wait is over. The whole file is compared, for on shared folders its time may
// be old.
func (w *wait) look(now time.Time) bool {
	data, err := os.ReadFile(w.name)
	switch {
	case err != nil:
		w.found = result.Reception{Missing: fmt.Sprintf("the receiver's file could not be read: %v", err)}
	case w.changed.IsZero() || !bytes.Equal(data, w.data):
		w.data, w.changed = data, now
		w.decode()
	}
	waited := now.Sub(w.began)
	if waited >= receiverLimit {
		return true
	}
	if err != nil || w.found.Received == nil || now.Sub(w.changed) < receiverStill {
		return false
	}
	return w.found.Received.Heard() >= w.sent || waited >= receiverPatience
}

func (w *wait) decode() {
	f, err := result.DecodeReceiver(w.name, w.data)
	if err != nil {
		w.found = result.Reception{Missing: fmt.Sprintf("the receiver's file could not be read: %v", err)}
		return
	}
	w.found = f.Reception(w.run)
}
