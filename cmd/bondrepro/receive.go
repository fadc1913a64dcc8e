package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"bondrepro/internal/report"
	"bondrepro/internal/traffic"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"

	"github.com/spf13/cobra"
)

// receiving are the flags of receive.
type receiving struct {
	interfaces []string
	sets       []string
	output     string
	limit      time.Duration
	json       bool
}

func newReceive() *cobra.Command {
	var o receiving
	c := &cobra.Command{
		Use:   "receive SCENARIO --interface NAME",
		Short: "Be the far end on another machine or in another namespace: count what arrives",
		Long: `Join the scenario's groups on the named interfaces and count what arrives there, by run and by sender, until a
signal (SIGINT, SIGTERM) or --for ends it.

The file of -o is renewed while packets come: 'bondrepro run --receiver FILE' takes what belongs to each of its runs
from it, and 'bondrepro judge --receiver FILE RESULT' does so afterwards.

Exit code 0: it has ended as asked, whatever came. 128: usage or environment error.`,
		Example: `  bondrepro receive bond-multicast-tx --interface eth3
  bondrepro receive bond-multicast-tx --interface eth3 --interface eth4 -o received.json --for 10m`,
		Args: oneScenario,
		RunE: func(c *cobra.Command, args []string) error {
			if err := notEmpty(c, "output"); err != nil {
				return err
			}
			if o.limit < 0 || c.Flags().Changed("for") && o.limit == 0 {
				return fmt.Errorf("--for %v: it must be longer than nothing; without it a signal ends the receiver", o.limit)
			}
			if err := checkOutput(o.output); err != nil {
				return err
			}
			sc, err := loadScenario(args[0], o.sets)
			if err != nil {
				return err
			}
			return receive(c, sc, o)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.interfaces, "interface", nil, "NAME of an interface where the senders' frames come in (repeatable)")
	f.StringArrayVar(&o.sets, "set", nil, "PATH=VALUE: set a field of the scenario (repeatable)")
	f.StringVarP(&o.output, "output", "o", "", "renew this file with what has arrived, for 'run --receiver' and 'judge --receiver'")
	f.DurationVar(&o.limit, "for", 0, "end after this time (default: when a signal comes)")
	f.BoolVar(&o.json, "json", false, "print what arrived as JSON at the end, instead of text")
	return c
}

func receive(c *cobra.Command, sc scenarios.Scenario, o receiving) (err error) {
	site, err := traffic.OpenSite(o.interfaces, sc.Traffic, sc.Topology.VLAN)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	stderr := c.ErrOrStderr()
	for _, w := range site.Warnings {
		fmt.Fprintf(stderr, "bondrepro: %s: %s\n", w.Code, w.Text)
	}
	ctx := c.Context()
	if o.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.limit)
		defer cancel()
	}
	shower := showProgress(stderr)
	shower.Show(report.Listening(site.Receiver))
	f, err := watch(ctx, site, o.output, shower.Show)
	shower.Stop()
	return errors.Join(err, printReceived(c.OutOrStdout(), f, o.json))
}

func printReceived(w io.Writer, f result.ReceiverFile, asJSON bool) error {
	if asJSON {
		return result.EncodeReceiver(w, f)
	}
	_, err := fmt.Fprint(w, report.Received(f))
	return err
}
