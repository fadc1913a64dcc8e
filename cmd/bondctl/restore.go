package main

import (
	"fmt"
	"strings"

	"bondrepro/bondctl"

	"github.com/spf13/cobra"
)

const restoreLong = `Put back what commands had changed that ended before they did so themselves: killed, or by a power cut. Every
command that changes interfaces (bondctl up, bondrepro run --testbed host) writes down what they are before it does so,
in ` + bondctl.JournalDir + `. With the names of bonds, those are restored, also one that 'bondctl up' made to stay.

It may be run again, also after it was killed: it looks at what there is and changes what is not as it was. What can't
be put back is said, item by item, and kept on record unless its interface is gone or has no carrier.

Exit codes: 0 everything is as it was, 128 it is not, or usage or environment error, 130/143 interrupted, 134 a panic of
bondctl itself.`

func newRestore() *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use:         "restore [BOND...]",
		Short:       "Put interfaces back that a command left changed",
		Long:        restoreLong,
		Annotations: map[string]string{takesJournals: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return changing(func(client *bondctl.Client) error {
				done, err := client.RestoreAll(cmd.Context(), bondctl.JournalDir, commandLine(), args, forget)
				out := cmd.OutOrStdout()
				if len(done) == 0 && err == nil {
					fmt.Fprintln(out, "there is nothing to put back")
				}
				for _, e := range done {
					fmt.Fprintln(out, restored(e, forget))
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "put nothing back: drop the record, and leave everything as it is")
	return cmd
}

// restored says what became of a journal.
func restored(e bondctl.Entry, forget bool) string {
	names := strings.Join(e.Interfaces, ", ")
	if forget {
		return fmt.Sprintf("%s: forgotten; nothing was put back (%s, pid %d)", names, e.Command, e.PID)
	}
	return fmt.Sprintf("%s: as before %s (pid %d)", names, e.Command, e.PID)
}
