package main

import (
	"errors"
	"fmt"
	"io"

	"bondrepro/bondctl"

	"github.com/spf13/cobra"
)

const upLong = `Build a bond. What it is to be comes from flags, or from a YAML file with -f ("-" is standard input):

  name: bond0
  mode: active-backup
  options: {miimon: 100, primary: eth1}
  slaves: [eth1, {name: eth2, prio: 10}]
  mtu: 9000                # of the bond, and so of its slaves
  txqueuelen: 1000         # of each slave
  qdisc: pfifo_fast        # of each TX queue of each slave
  addresses: [192.0.2.1/24]

The slaves are set down to be enslaved. One that has a master, addresses or the default route is refused without
--take. Refused always: one that carries an SSH connection to this machine, one that has other devices on it, such as
VLANs, which would go down with it, and one that has what could not be put back exactly. What the slaves were is
written down first, and 'bondctl down' gives it back.

Options may come in any order. One that does not apply to the mode is refused before anything is done. All that was
asked for is read back; where the kernel has it otherwise, everything is put back and that is an error.

A bond that is there and is as asked is left alone, and nothing is sent. What was not asked for is not compared.
One that differs is refused with the first difference.

'bondctl help options' lists the options.

` + exitCodes

// upFlags are the flags of up.
type upFlags struct {
	file            string
	mode            string
	set, slaves     []string
	primary         string
	mtu, txqueuelen int
	qdisc           string
	addresses       []string
	take, dryRun    bool
}

func newUp() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:         "up (NAME --mode MODE [FLAGS] | -f FILE)",
		Short:       "Build a bond, and read it back",
		Long:        upLong,
		Example:     "  bondctl up bond0 --mode active-backup --set miimon=100 --slave eth1 --slave eth2,prio=10 --address 192.0.2.1/24\n  bondctl up -f bond0.yaml --dry-run",
		Annotations: map[string]string{takesJournals: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			bond, err := f.bond(cmd.InOrStdin(), cmd.Flags().Changed, args)
			if err != nil {
				return err
			}
			bond.Take = f.take
			return up(cmd, bond, f.dryRun)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "read the bond from a YAML file instead of flags")
	flags.StringVar(&f.mode, "mode", "", "the mode, such as active-backup")
	flags.StringArrayVar(&f.set, "set", nil, "an option, `NAME=VALUE` (again for more)")
	flags.StringArrayVar(&f.slaves, "slave", nil, "a slave and its options, `NAME[,OPTION=VALUE…]` (again for more)")
	flags.StringVar(&f.primary, "primary", "", "the slave that is preferred; the same as --set primary=`SLAVE`")
	flags.IntVar(&f.mtu, "mtu", 0, "`bytes`, of the bond and so of its slaves")
	flags.IntVar(&f.txqueuelen, "txqueuelen", 0, "`packets`, of each slave")
	flags.StringVar(&f.qdisc, "qdisc", "", "of each TX queue of each slave, such as pfifo_fast")
	flags.StringArrayVar(&f.addresses, "address", nil, "an address of the bond, `ADDRESS/PREFIX` (again for more)")
	flags.BoolVar(&f.take, "take", false, "take slaves that are in use: with a master, addresses, the default route")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be done as ip and tc command lines, and do nothing")
	return cmd
}

// up builds the bond or prints how.
func up(cmd *cobra.Command, bond bondctl.Bond, dryRun bool) error {
	return changing(func(client *bondctl.Client) error {
		if dryRun {
			return printPlan(cmd.OutOrStdout(), client, bond)
		}
		steps, err := client.Build(cmd.Context(), bondctl.JournalDir, commandLine(), bond)
		said := "is up and reads back as asked"
		if len(steps) == 0 {
			said = "is as asked: nothing was done"
		}
		return say(cmd, err, bond.Name, said)
	})
}

// printPlan prints what up would do.
func printPlan(w io.Writer, client *bondctl.Client, bond bondctl.Bond) error {
	have, err := client.Interfaces()
	if err != nil {
		return err
	}
	steps, err := bondctl.Plan(bond, have)
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		fmt.Fprintf(w, "# %s is as asked: there is nothing to do\n", bond.Name)
		return nil
	}
	for _, why := range refusals(client, bond) {
		fmt.Fprintf(w, "# up refuses: %s\n", why)
	}
	for _, s := range steps {
		fmt.Fprintln(w, bondctl.CommandLine(s))
	}
	return nil
}

// refusals tell why up would not do what its plan says, as far as this user can see.
func refusals(client *bondctl.Client, bond bondctl.Bond) (all []string) {
	if err := bondctl.CheckJournals(bondctl.JournalDir); err != nil {
		all = append(all, err.Error())
	}
	err := client.Refusals(bond)
	var used *bondctl.InUseError
	switch {
	case errors.As(err, &used):
		all = append(all, used.Reasons...)
	case err != nil:
		all = append(all, err.Error())
	}
	return all
}
