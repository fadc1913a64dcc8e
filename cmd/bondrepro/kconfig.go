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
		Long: `Print the smallest kernel config that boots in the machines of bondrepro and measures every scenario, with a reason for
each group of options. On top of allnoconfig it builds in some minutes, and needs no modules.

With --apply it is merged into TREE/.config instead, and into an empty one where there is none; what was there before is kept
as .config.old. An option that this tree does not have, or not with its config, is an error, and .config stays as it was.

Exit code 0: printed or merged. 128: it was not.`,
		Example: "  bondrepro kconfig --apply ~/linux && make -C ~/linux -j$(nproc) bzImage\n  bondrepro run bond-multicast-tx --kernel ~/linux",
		Args:    cobra.NoArgs,
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
