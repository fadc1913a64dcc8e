package main

import (
	"encoding/json"
	"io"

	"bondrepro/bondctl"

	"github.com/spf13/cobra"
)

const showLong = `show prints each bond of this network namespace, or those named: mode, state, MTU, MAC, active slave, LACP, every
option that the kernel tells, and for each slave its state, link failures, speed, driver, queues and qdiscs. Names and
values are those of "ip -d link show". It only reads, and needs no rights.

Without any bond it says so and exits with 0. A name that is no bond's is an error (128).`

func newShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [NAME...]",
		Short: "Print bonds: mode, options, LACP, slaves",
		Long:  showLong,
		RunE: func(cmd *cobra.Command, names []string) error {
			show, err := bondctl.ReadShow(names...)
			if err != nil {
				return err
			}
			return writeOut(cmd.OutOrStdout(), show, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// writeOut writes what can be written for people or as JSON.
func writeOut(w io.Writer, what interface{ WriteText(io.Writer) error }, asJSON bool) error {
	if !asJSON {
		return what.WriteText(w)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(what)
}
