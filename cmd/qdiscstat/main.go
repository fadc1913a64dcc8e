// Command qdiscstat prints the counters of qdiscs as `tc -s qdisc show` does, once or at an interval.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"bondrepro/internal/exitcode"
)

func main() {
	exitcode.Guard()
	ctx, stop := exitcode.Signals(context.Background())
	defer stop()
	err := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	var stopped *exitcode.Stopped
	if err != nil && !errors.As(err, &stopped) {
		fmt.Fprintln(os.Stderr, "qdiscstat:", err)
	}
	os.Exit(exitcode.Of(err))
}
