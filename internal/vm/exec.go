package vm

import (
	"context"
	"encoding/json"
	"io"

	"bondrepro/internal/guestproto"
)

// Exec runs a program of the guest's file system, writes its output to out, and gives its exit code. The error
// is that of Call.
func (m *Machine) Exec(ctx context.Context, e guestproto.Exec, out io.Writer) (exitCode int, err error) {
	var result guestproto.ExecResult
	err = m.Call(ctx, guestproto.KindExec, e, &result, func(kind string, body json.RawMessage) {
		var o guestproto.Output
		if kind == guestproto.NoteOutput && json.Unmarshal(body, &o) == nil {
			_, _ = out.Write(o.Data) // the program goes on without its reader
		}
	})
	return result.ExitCode, err
}
