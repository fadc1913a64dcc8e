package main

import (
	"fmt"

	"bondrepro/internal/kbuild"

	"github.com/spf13/cobra"
)

func newKconfig() *cobra.Command {
	var tree string
	c := &cobra.Command{
		Use:   "kconfig",
		Short: "Print the smallest kernel config that boots and measures, or merge it into a tree",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := notEmpty(c, "apply"); err != nil {
				return err
			}
			if tree == "" {
				_, err := fmt.Fprint(c.OutOrStdout(), kbuild.Fragment())
				return err
			}
			return kbuild.Apply(c.Context(), tree, func(s string) { fmt.Fprintln(c.ErrOrStderr(), "bondrepro: note: "+s) })
		},
	}
	c.Flags().StringVar(&tree, "apply", "", "kernel tree whose .config gets it, instead of printing it")
	return c
}
