package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"bondrepro/internal/doctor"
	"bondrepro/scenarios"

	"github.com/spf13/cobra"
)

func newDoctor() *cobra.Command {
	o := doctor.Options{Ports: doctor.Ports{Scenario: scenarios.Default()}}
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this machine can do for bondrepro, and what to do about the rest",
		Long: `Tell what this machine can and can't do, and what to do about it. Nothing is changed.

With --slaves or --bond it tells what run --testbed host would refuse about these ports (NEEDED), and what would make
its verdict weak (weak), for a scenario as bond-multicast-tx. What a command mends is mended before a run, by you.

Exit code 0: scenarios can be measured here. 128: they can't.`,
		Example: "  bondrepro doctor\n  bondrepro doctor --slaves eth1,eth2",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			checks, err := doctor.Examine(c.Context(), o)
			if err != nil {
				return err
			}
			if err := printChecks(c.OutOrStdout(), checks, asJSON); err != nil {
				return err
			}
			switch {
			case doctor.Healthy(checks):
				return nil
			case o.Ports.Asked():
				return errors.New("run --testbed host refuses these ports until what is marked NEEDED is mended")
			}
			return errors.New("nothing can be measured here until what is marked NEEDED is there")
		},
	}
	f := c.Flags()
	f.StringVar(&o.QEMU, "qemu", "qemu-system-x86_64", "QEMU program")
	f.StringSliceVar(&o.Ports.Slaves, "slaves", nil, "real ports to look at, as eth1,eth2")
	f.StringVar(&o.Ports.Bond, "bond", "", "existing bond to look at, with its slaves")
	f.BoolVar(&o.Ports.TakeAddresses, "take-addresses", false, "the ports' addresses may be taken off and put back")
	f.BoolVar(&o.Ports.AllowVirtual, "allow-virtual", false, "take virtual interfaces, too")
	f.BoolVar(&asJSON, "json", false, "print the checks as JSON")
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
		case c.Weak:
			mark = "weak  "
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
