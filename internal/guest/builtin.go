package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"bondrepro/internal/guestproto"
	"bondrepro/internal/osrun"
)

// execute runs a program of the guest's file system. Its exit code is part of the reply; only a program that
// could not be started, or was cancelled, is an error.
func execute(ctx context.Context, body json.RawMessage, notify func(string, any)) (any, error) {
	var e guestproto.Exec
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, fmt.Errorf("read exec call: %w", err)
	}
	out := &notes{notify: notify}
	_, err := osrun.Run(ctx, osrun.Cmd{Path: e.Path, Args: e.Args, Env: e.Env, Dir: e.Dir, Stdout: out, Stderr: out})
	var ended *osrun.Error
	if errors.As(err, &ended) && ended.Err == nil {
		return guestproto.ExecResult{ExitCode: ended.ExitCode}, nil
	}
	return guestproto.ExecResult{}, err
}

// notes sends what is written to it as notes, in the order written.
type notes struct {
	mu     sync.Mutex
	notify func(string, any)
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notify(guestproto.NoteOutput, guestproto.Output{Data: b})
	return len(b), nil
}
