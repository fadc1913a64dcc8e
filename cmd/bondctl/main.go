// Command bondctl builds, removes and shows bonds. See `bondctl help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"bondrepro/bondctl"
	"bondrepro/internal/exitcode"
)

func main() {
	exitcode.Guard()
	ctx, stop := exitcode.Signals(context.Background())
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs one command and returns its exit code; an error is one message on stderr.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "bondctl: %v\n", err)
	}
	var left *bondctl.RestoreError
	if errors.As(err, &left) { // also where a signal came, too
		return exitcode.Usage
	}
	return exitcode.Of(err)
}
