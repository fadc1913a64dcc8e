package guest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/guestproto"
)

func runExec(t *testing.T, e guestproto.Exec) (guestproto.ExecResult, string, error) {
	t.Helper()
	body, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out strings.Builder
	v, err := execute(ctx, body, func(kind string, v any) {
		if kind != guestproto.NoteOutput {
			t.Errorf("note %s", kind)
		}
		out.Write(v.(guestproto.Output).Data)
	})
	r, _ := v.(guestproto.ExecResult)
	return r, out.String(), err
}

func TestExecute(t *testing.T) {
	r, out, err := runExec(t, guestproto.Exec{Path: "sh", Args: []string{"-c", "echo $WORD; exit 9"}, Env: []string{"WORD=hello", "PATH=/bin:/usr/bin"}})
	if err != nil || r.ExitCode != 9 || out != "hello\n" {
		t.Errorf("exit code %d, output %q, %v", r.ExitCode, out, err)
	}
	if r, _, err := runExec(t, guestproto.Exec{Path: "sh", Args: []string{"-c", "kill -9 $$"}}); err != nil || r.ExitCode != -1 {
		t.Errorf("a killed program: exit code %d, %v", r.ExitCode, err)
	}
	if _, _, err := runExec(t, guestproto.Exec{Path: "/nowhere"}); err == nil {
		t.Error("a program that is not there is no error")
	}
}
