package main

import (
	"bytes"
	"errors"

	"bondrepro/internal/compare"
	"bondrepro/internal/exitcode"
	"bondrepro/internal/report"
	"bondrepro/reproducer"
	"bondrepro/reproducer/result"

	"github.com/spf13/cobra"
)

func newSearch() *cobra.Command {
	var place placeFlags
	var document documentFlags
	o := compare.SearchOptions{Tool: version}
	c := &cobra.Command{
		Use:   "search SCENARIO --max rate --until CONDITION",
		Short: "Look for the highest rate without loss, or the highest value that a condition holds at",
		Long: `Look for the highest value of a field at which a condition holds, by bisection as in RFC 2544: each value is tried until --confirm
runs agree, and both ends of the answer once more. --max rate is the rate of the workload's senders; any other numeric field
takes --to.

Exit codes: 0 it reached an answer, also "at no value" and "at every value"; 125 it can't be told; 128 usage or environment error;
130/143 interrupted.`,
		Example: `  bondrepro search bond-multicast-tx --max rate --until 'slaves.qdisc.dropped == 0' --to 200mbit
  bondrepro search bond-multicast-tx --max traffic.senders --to 64 --until 'slaves.qdisc.dropped == 0'`,
		Args: oneScenario,
		RunE: func(c *cobra.Command, args []string) error {
			if err := document.check(c); err != nil {
				return err
			}
			if err := notEmpty(c, "max", "until", "from", "to"); err != nil {
				return err
			}
			options, err := place.read(c, args[0])
			if err != nil {
				return err
			}
			o.Base = compare.Base{Scenario: options.Scenario, Kernel: options.Kernel, Modules: options.Modules}
			o.Set = place.sets
			shower := showProgress(c.ErrOrStderr())
			defer shower.Stop()
			o.Progress = shower.Show
			seeker, err := o.Prepare()
			if err != nil {
				return err
			}
			options.Scenario = seeker.Base.Scenario
			r, err := seeker.Search(c.Context(), compare.NewSessions(options, []compare.Arm{seeker.Arm()}))
			shower.Stop()
			if err != nil {
				return unknowable(err)
			}
			return printSearch(c, r, document)
		},
	}
	place.add(c)
	f := c.Flags()
	f.StringVar(&o.Max, "max", "", "what is to be as high as possible: rate, or a numeric path of the scenario")
	f.StringVar(&o.Until, "until", "", "condition that must hold, as 'slaves.qdisc.dropped == 0' (docs/metrics.md lists the metrics)")
	f.StringVar(&o.From, "from", "", "lowest value (default a hundredth of --to; 1 of whole numbers)")
	f.StringVar(&o.To, "to", "", "highest value (of a rate over a bond twice the line rate, where that is left out)")
	f.Float64Var(&o.Resolution, "resolution", compare.DefaultResolution, "width of the answer's interval, percent of it")
	f.IntVar(&o.Confirm, "confirm", compare.DefaultConfirm, "runs that must agree on a value")
	document.add(c, "search")
	return c
}

// unknowable gives a search that can't tell its exit code.
func unknowable(err error) error {
	var unclear *compare.UnclearError
	var kernel *reproducer.KernelError
	if errors.As(err, &unclear) || errors.As(err, &kernel) {
		return &exitcode.Error{Code: exitcode.CannotTell, Err: err}
	}
	return err
}

func printSearch(c *cobra.Command, s result.Search, d documentFlags) error {
	var document bytes.Buffer
	if err := result.EncodeSearch(&document, s); err != nil {
		return err
	}
	return d.print(c, document.Bytes(), report.Search(s))
}
