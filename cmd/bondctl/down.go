package main

import (
	"fmt"
	"runtime"

	"bondrepro/bondctl"

	"github.com/spf13/cobra"
)

func newDown() *cobra.Command {
	return &cobra.Command{
		Use:   "down NAME",
		Short: "Remove a bond; its slaves are free then, and down",
		Long:  "Remove a bond. Its slaves are free then, and down. A bond that is not there is no error; an interface that is\nno bond is left alone, with an error.\n\n" + exitCodes,
		Args:  oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			// bondctl works in the namespace of its thread.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			client, err := bondctl.Open()
			if err != nil {
				return err
			}
			defer client.Close()
			have, err := client.Interfaces()
			if err != nil {
				return err
			}
			if _, there := have[name]; !there {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is not there: nothing was done\n", name)
				return nil
			}
			if err := client.Down(name); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is removed, and its slaves are down\n", name)
			return nil
		},
	}
}

// oneName wants one argument.
func oneName(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one bond, not %d", len(args))
	}
	return nil
}
