package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"bondrepro/bondctl"
	"bondrepro/qdiscstat"

	"github.com/spf13/cobra"
)

const long = `qdiscstat prints the counters of every qdisc, or of those of the named devices, as "tc -s qdisc show"
prints them. It only reads, and needs no rights.

With -i it polls until SIGINT or SIGTERM, or -c times. Each poll begins with its time. The counters are always
absolute; from the second poll on, a line below each qdisc says what was counted since the poll before:
32-bit counters that wrapped are put right, and a qdisc that was replaced counts from 0.

With --json each qdisc of each poll is one line with the field names of "tc -s -j qdisc show" (absolute
counters, bytes and packets; options of pfifo_fast, tbf and netem) and with "time" and "ifindex".

Exit codes: 0 done, 128 usage or environment error, 130 SIGINT, 143 SIGTERM.`

// options are the flags.
type options struct {
	interval time.Duration
	count    int
	json     bool
}

// run is the command but for the process around it.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	var o options
	cmd := &cobra.Command{
		Use:           "qdiscstat [DEV...]",
		Short:         "Print qdisc counters",
		Long:          long,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, devices []string) error {
			if err := o.check(cmd.Flags().Changed); err != nil {
				return err
			}
			if err := bondctl.CheckJournals(bondctl.JournalDir); err != nil {
				fmt.Fprintf(stderr, "qdiscstat: note: %v\n", err)
			}
			return watch(cmd.Context(), stdout, stderr, o, devices)
		},
	}
	cmd.Flags().DurationVarP(&o.interval, "interval", "i", 0, "poll at this interval, for example 100ms")
	cmd.Flags().IntVarP(&o.count, "count", "c", 0, "stop after so many polls (with -i; without: until a signal)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one line of JSON for each qdisc of each poll")
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	return cmd.ExecuteContext(ctx)
}

// check says what is wrong with the flags.
func (o *options) check(set func(string) bool) error {
	switch {
	case set("interval") && o.interval <= 0:
		return fmt.Errorf("the interval %v is not greater than 0", o.interval)
	case set("count") && o.count <= 0:
		return fmt.Errorf("the count %d is not greater than 0", o.count)
	case set("count") && !set("interval"):
		return errors.New("-c needs an interval: give -i too, for example -i 1s")
	}
	return nil
}

// watch polls and prints until the count is reached, an error, or a signal.
func watch(ctx context.Context, stdout, stderr io.Writer, o options, names []string) error {
	conn, err := qdiscstat.Open()
	if err != nil {
		return err
	}
	defer conn.Close()
	sampler := qdiscstat.Sampler{Conn: conn, Interval: o.interval, Count: o.count}
	if o.interval == 0 {
		sampler.Count = 1
	}
	for _, name := range names {
		ifindex, err := conn.Ifindex(name)
		if err != nil {
			return err
		}
		sampler.Devices = append(sampler.Devices, ifindex)
	}
	out := bufio.NewWriter(stdout)
	show := text(o.interval > 0)
	if o.json {
		show = jsonLines
	}
	err = sampler.Run(ctx, func(sample *qdiscstat.Sample) error {
		for i, name := range names { // a device that went away ends the command instead of printing nothing
			if now, err := conn.Ifindex(name); err != nil || now != sampler.Devices[i] {
				return fmt.Errorf("interface %q went away", name)
			}
		}
		if err := conn.Options(sample.Qdiscs); err != nil && !errors.Is(err, qdiscstat.ErrInterrupted) {
			return err
		}
		if sample.Missed > 0 {
			fmt.Fprintf(stderr, "qdiscstat: %d polls were missed before %s\n", sample.Missed, sample.At.Format(clock))
		}
		if err := show(out, sample); err != nil {
			return err
		}
		return out.Flush()
	})
	if err == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
