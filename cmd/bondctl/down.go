package main

import (
	"fmt"

	"bondrepro/bondctl"

	"github.com/spf13/cobra"
)

func newDown() *cobra.Command {
	return &cobra.Command{
		Use:   "down NAME",
		Short: "Remove a bond; its slaves become what they were before",
		Long: "Remove a bond. The slaves of one that 'bondctl up' made become what they were before; those of another are free\nthen, and down. A bond that is not there is no error; an interface that is no bond is left alone, with an error.\n\n" +
			exitCodes,
		Args:        oneName,
		Annotations: map[string]string{takesJournals: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return changing(func(client *bondctl.Client) error {
				outcome, err := client.TakeDown(cmd.Context(), bondctl.JournalDir, commandLine(), args[0])
				return say(cmd, err, args[0], outcomes[outcome])
			})
		},
	}
}

// outcomes are what became of a bond, in words.
var outcomes = map[bondctl.Outcome]string{
	bondctl.NotThere: "is not there: nothing was done",
	bondctl.Removed:  "is removed, and its slaves are down",
	bondctl.Restored: "is removed, and its slaves are what they were before",
}

// oneName wants one argument.
func oneName(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one bond, not %d", len(args))
	}
	return nil
}
