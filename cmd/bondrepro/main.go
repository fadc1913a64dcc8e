// Command bondrepro tells whether a sender of UDP multicast over a bond is throttled by its socket (good) or
// loses its packets in a slave's qdisc (bad). See `bondrepro help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"bondrepro/bondctl"
	"bondrepro/internal/exitcode"
	"bondrepro/internal/guest"
	"bondrepro/internal/netns"
	"bondrepro/reproducer"

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "dev"

func main() {
	exitcode.Guard()
	if guest.Booted() {
		guest.Main(guest.Handlers())
	}
	if netns.Child() {
		netns.Main()
	}
	ctx, stop := exitcode.Signals(context.Background())
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs one command and returns its exit code; an error is one message on stderr.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	verdict := exitcode.Good
	root := newRoot(&verdict)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var changed *reproducer.NotRestoredError
	if cause := context.Cause(ctx); cause != nil && err != nil && !errors.As(err, &changed) {
		err = cause
	}
	if err != nil {
		fmt.Fprintf(stderr, "bondrepro: %v\n", err)
		return exitcode.Of(err)
	}
	return verdict
}

const exitCodes = `Exit codes: 0 good, 1 bad, 125 cannot tell (git bisect skips), 128 usage or environment error,
also "bad, and this machine's ports could not be put back"; 130/143 interrupted, 134 a panic of bondrepro itself.`

func newRoot(verdict *int) *cobra.Command {
	root := &cobra.Command{
		Use:           "bondrepro",
		Short:         "Is a multicast sender over a bond throttled, or are its packets dropped in a slave's qdisc?",
		Long:          "bondrepro builds a bond, overfills it with UDP multicast, accounts for every packet, and says GOOD, BAD\nor CANNOT TELL, with the mechanism and the evidence.\n\n" + exitCodes,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("name a command: 'bondrepro help' lists them")
		},
		PersistentPreRun: func(c *cobra.Command, _ []string) {
			if onPorts(c) {
				return // it says so itself
			}
			if err := bondctl.CheckJournals(bondctl.JournalDir); err != nil {
				fmt.Fprintf(c.ErrOrStderr(), "bondrepro: note: %v\n", err)
			}
		},
	}
	root.SetHelpCommand(newHelp(root))
	root.AddCommand(newRun(verdict), newReceive(), newJudge(verdict), newList(), newShow(), newValidate(), newSchema(), newDoctor(),
		newBisect(verdict), newKconfig(), newKernels(), newMatrix(verdict), newMerge(verdict), newCompare(verdict), newSweep(verdict), newSearch())
	return root
}

// onPorts tells whether a command is about real ports, and so looks at the journals itself.
func onPorts(c *cobra.Command) bool {
	for _, name := range []string{"slaves", "bond"} {
		if f := c.Flags().Lookup(name); f != nil && f.Changed {
			return true
		}
	}
	return false
}

// newHelp is cobra's own but for its exit code: a mistyped line must not read as "good" to git bisect run.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return fmt.Errorf("help: there is no command %q", strings.Join(args, " "))
			}
			return c.Help()
		},
	}
}
