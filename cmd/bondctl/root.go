package main

import (
	"errors"
	"fmt"
	"strings"

	"bondrepro/bondctl"

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "dev"

const exitCodes = `Exit codes: 0 done, 128 usage or environment error, also "something could not be put back"; 130/143 interrupted, 134 a
panic of bondctl itself.`

// takesJournals marks a command that looks at the journals by itself.
const takesJournals = "journals"

const rootLong = `bondctl builds a bond from flags or from a YAML file, and says no when the kernel did not do as asked. It gives
the slaves back as they were: at 'down', and at 'restore' after a command that was killed. It shows bonds, and tells
which slave a packet will take. Modes, options and their values are written as iproute2 writes them.

` + exitCodes

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "bondctl",
		Short:         "Build bonds and read them back, give their slaves back, show bonds, and tell which slave a packet takes",
		Long:          rootLong,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("name a command: 'bondctl help' lists them")
		},
		PersistentPreRun: func(c *cobra.Command, _ []string) {
			if c.Annotations[takesJournals] != "" {
				return // it says so itself
			}
			if err := bondctl.CheckJournals(bondctl.JournalDir); err != nil {
				fmt.Fprintf(c.ErrOrStderr(), "bondctl: note: %v\n", err)
			}
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(newHelp(root))
	root.AddCommand(newUp(), newDown(), newRestore(), newShow(), newPredict(), &cobra.Command{
		Use:   "options",
		Short: "Every bonding option: its values, the modes that take it, since when",
		Long:  "Every bonding option that bondctl up takes.\n\n" + bondctl.OptionsHelp(),
	})
	return root
}

// newHelp is cobra's own but for its exit code, which is 128 for a command that is not there.
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
