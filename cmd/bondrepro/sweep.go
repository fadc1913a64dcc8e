package main

import (
	"bytes"
	"fmt"

	"bondrepro/internal/compare"
	"bondrepro/internal/exitcode"
	"bondrepro/internal/report"
	"bondrepro/reproducer/result"

	"github.com/spf13/cobra"
)

func newSweep(verdict *int) *cobra.Command {
	var place placeFlags
	var document documentFlags
	var over []string
	o := compare.SweepOptions{Tool: version}
	c := &cobra.Command{
		Use:   "sweep SCENARIO --over PATH=VALUE,VALUE,…",
		Short: "Measure a scenario over one or two parameters",
		Long: `Measure a scenario for each value of one parameter, or of two, and print a table and a curve. All points are measured in turns.
A scenario may bring its own sweep; --over takes its place. Arms and cases of the scenario are left out.

Over a bond, what the preflight sum predicts stands beside what was dropped.

Exit codes: 0 measured, 125 no run of some point counts, 128 usage or environment error, 130/143 interrupted.`,
		Example: `  bondrepro sweep sndbuf-sweep
  bondrepro sweep bond-multicast-tx --over traffic.senders=1,4,16,64
  bondrepro sweep gro-batch --over load.connections=1,4,16 --over offload.gro=off,on`,
		Args: oneScenario,
		RunE: func(c *cobra.Command, args []string) error {
			if err := document.check(c); err != nil {
				return err
			}
			options, err := place.read(c, args[0])
			if err != nil {
				return err
			}
			if o.Order.Runs < 1 {
				return fmt.Errorf("-n %d: it must be 1 at least", o.Order.Runs)
			}
			if o.Over, err = compare.ParseOver(over); err != nil {
				return err
			}
			o.Base = compare.Base{Scenario: options.Scenario, Kernel: options.Kernel, Modules: options.Modules}
			o.Set = place.sets
			swept, points, err := o.Points()
			if err != nil {
				return err
			}
			options.Scenario = swept.Base.Scenario
			shower := showProgress(c.ErrOrStderr())
			swept.Progress = shower.Show
			s, err := compare.Sweep(c.Context(), compare.NewSessions(options, points), swept, points)
			shower.Stop()
			if err != nil {
				return err
			}
			return printSweep(c, s, document, verdict)
		},
	}
	place.add(c)
	f := c.Flags()
	f.StringArrayVar(&over, "over", nil, "PATH=VALUE,VALUE,…: a parameter and its values (once or twice)")
	f.IntVarP(&o.Order.Runs, "runs", "n", compare.DefaultSweepRuns, "runs of each point")
	f.IntVar(&o.Order.Warmup, "warmup", 0, "runs of each point that are left out at the start")
	f.StringArrayVar(&o.Metrics, "metric", nil, "show this metric, too (repeatable; docs/metrics.md lists them)")
	document.add(c, "sweep")
	return c
}

func printSweep(c *cobra.Command, s result.Sweep, d documentFlags, verdict *int) error {
	var document bytes.Buffer
	if err := result.EncodeSweep(&document, s); err != nil {
		return err
	}
	for _, p := range s.Points {
		if len(p.Figures) == 0 {
			*verdict = exitcode.CannotTell
		}
	}
	return d.print(c, document.Bytes(), report.Sweep(s))
}
