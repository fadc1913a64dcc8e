package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"bondrepro/internal/doctor"

	"github.com/spf13/cobra"
)

func newDoctor() *cobra.Command {
	var o doctor.Options
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this machine can do for bondrepro, and what to do about the rest",
		Long:  "Tell what this machine can and can't do, and what to do about it. Nothing is changed.\n\nExit code 0: scenarios can be measured here. 128: they can't.",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			checks, err := doctor.Examine(c.Context(), o)
			if err != nil {
				return err
			}
			if err := printChecks(c.OutOrStdout(), checks, asJSON); err != nil {
				return err
			}
			if !doctor.Healthy(checks) {
				return errors.New("nothing can be measured here until what is marked NEEDED is there")
			}
			return nil
		},
	}
	c.Flags().StringVar(&o.QEMU, "qemu", "qemu-system-x86_64", "QEMU program")
	c.Flags().BoolVar(&asJSON, "json", false, "print the checks as JSON")
	return c
}

func printChecks(w io.Writer, checks []doctor.Check, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(checks)
	}
	for _, c := range checks {
		mark := "ok    "
		switch {
		case !c.OK && c.Needed:
			mark = "NEEDED"
		case !c.OK:
			mark = "no    "
		}
		fmt.Fprintf(w, "%s  %-18s %s\n", mark, c.Name, c.Found)
		if c.Remedy != "" {
			fmt.Fprintf(w, "        %-18s -> %s\n", "", c.Remedy)
		}
	}
	return nil
}
