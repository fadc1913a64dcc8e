package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"bondrepro/internal/compare"
	"bondrepro/internal/exitcode"
	"bondrepro/internal/report"
	"bondrepro/reproducer"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
)

// placeFlags say what to measure and where.
type placeFlags struct {
	options reproducer.Options
	sets    []string
	modules []string
}

func (p *placeFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.options.Testbed, "testbed", "auto", "where to measure: vm (a guest), netns (the running kernel), host (real ports, for scenarios over a bond), auto (netns where the running kernel can and nobody names another, else vm)")
	addPorts(c, &p.options.Host)
	f.StringVar(&p.options.Kernel, "kernel", "", "kernel to boot in a guest, as of 'run'")
	f.StringVar(&p.options.ModulesDir, "modules", "", "folder with the modules of a bzImage")
	f.StringArrayVar(&p.modules, "module", nil, "NAME=FILE.ko: put this module in place of the kernel's own (repeatable)")
	f.StringVar(&p.options.QEMU, "qemu", "", "QEMU program (default qemu-system-x86_64)")
	f.StringArrayVar(&p.sets, "set", nil, "PATH=VALUE: set a field of the scenario (repeatable)")
}

// read makes options of the flags and a scenario's name. Whether the scenario's fields go with each other is for who measures it.
func (p *placeFlags) read(c *cobra.Command, scenario string) (o reproducer.Options, err error) {
	if err := notEmpty(c, "testbed", "kernel", "modules", "qemu"); err != nil {
		return o, err
	}
	o = p.options
	o.Set, o.Version = p.sets, version
	o.Host.Command = strings.Join(os.Args, " ")
	if o.Modules, err = moduleFiles(p.modules); err != nil {
		return o, err
	}
	o.Scenario, err = setScenario(scenario, p.sets)
	return o, err
}

// documentFlags say where a document goes.
type documentFlags struct {
	output string
	json   bool
}

func (d *documentFlags) add(c *cobra.Command, what string) {
	c.Flags().StringVarP(&d.output, "output", "o", "", "write the "+what+", with every sample, as JSON to this file")
	c.Flags().BoolVar(&d.json, "json", false, "print the "+what+" as JSON instead of text")
}

func (d *documentFlags) check(c *cobra.Command) error {
	if err := notEmpty(c, "output"); err != nil {
		return err
	}
	return checkOutput(d.output)
}

// print writes the document where it is wanted, and the text otherwise.
func (d *documentFlags) print(c *cobra.Command, document []byte, text string) error {
	if d.output != "" {
		if err := renameio.WriteFile(d.output, document, 0o644); err != nil {
			return fmt.Errorf("-o %s: %w", d.output, err)
		}
	}
	if d.json {
		text = string(document)
	}
	_, err := fmt.Fprint(c.OutOrStdout(), text)
	return err
}

// compareFlags are those of `compare`.
type compareFlags struct {
	place     placeFlags
	arms      compare.Flags
	order     result.Order
	claims    compare.Claims
	calibrate int
	document  documentFlags
}

// defaultCalibrations is what --calibrate without a number is: few, as each takes as long as the comparison.
const defaultCalibrations = "5"

func newCompare(verdict *int) *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare SCENARIO --a KEY=VALUE --b KEY=VALUE… | compare FILE FILE…",
		Short: "Compare kernels or settings, with statistics",
		Long: `Measure arms of a scenario in turns and tell what differs between them: means with 95 % intervals, Welch's t-test with Mann and
Whitney's beside it, corrected for several metrics. The first arm is what the others are compared with. A scenario may bring
its own arms; flags take their place.

An arm's KEY is kernel, module.NAME, or a path of the scenario, such as offload.tso or sysctl.net.ipv4.tcp_wmem. Arms that
differ in kernel or module are booted several times each, in turns, and then a boot is what is counted, not a run.

With files it compares what 'compare -o' or 'run -o' wrote. One arm with -o is measured and kept for that.

Exit codes: 0 compared, whatever it says; 1 a condition of --fail-if holds; 125 it can't be told; 128 usage or environment error;
130/143 interrupted.`,
		Example: `  bondrepro compare loopback-tso
  bondrepro compare gro-batch --arm old:kernel=deb:linux-image-6.1.0-49-cloud-amd64 --arm new:kernel=deb:linux-image-cloud-amd64
  bondrepro compare bond-multicast-tx --a traffic.senders=1 --b traffic.senders=8 -n 20 --fail-if 'rate.achieved < -5%'
  bondrepro compare before.json after.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("compare: name a scenario ('bondrepro list' shows them), or files to compare")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.document.check(c); err != nil {
				return err
			}
			files, err := storedResults(args)
			if err != nil {
				return err
			}
			if files != nil {
				return compareFiles(c, files, f, verdict)
			}
			if _, err := strconv.Atoi(args[len(args)-1]); err == nil && c.Flags().Changed("calibrate") {
				return fmt.Errorf("compare: write the number with an equals sign: --calibrate=%s", args[len(args)-1])
			}
			if len(args) > 1 {
				return fmt.Errorf("compare: name one scenario, or files that 'compare -o' or 'run -o' wrote; %s is none", args[0])
			}
			o, err := f.place.read(c, args[0])
			if err != nil {
				return err
			}
			return compareArms(c, o, f, verdict)
		},
	}
	f.place.add(c)
	fl := c.Flags()
	for i, name := range []string{"a", "b", "c", "d"} {
		fl.StringArrayVar(&f.arms.Letters[i], name, nil, "KEY=VALUE of arm "+name+" (repeatable)")
	}
	fl.StringArrayVar(&f.arms.Named, "arm", nil, "NAME:KEY=VALUE of an arm with a name, NAME: for the scenario as it is (repeatable)")
	fl.IntVarP(&f.order.Runs, "runs", "n", compare.DefaultRuns, "runs of each arm, over all of its boots")
	fl.IntVar(&f.order.Boots, "boots", 0, fmt.Sprintf("boots of each arm (default %d where kernels or modules differ, else 1)", compare.DefaultBoots))
	fl.IntVar(&f.order.Warmup, "warmup", compare.DefaultWarmup, "runs of each arm that are left out at the start of each boot")
	fl.StringVar(&f.order.Kind, "order", result.OrderABBA, "abba (forth and back) or random")
	fl.Uint64Var(&f.order.Seed, "seed", 0, "repeat the random order that a report names by this seed")
	fl.IntVar(&f.calibrate, "calibrate", 0, "compare the first arm with itself so often before, and claim nothing below what that shows; without a number "+defaultCalibrations)
	fl.Lookup("calibrate").NoOptDefVal = defaultCalibrations
	fl.Float64Var(&f.claims.Minimum, "minimum", compare.DefaultMinimum, "smallest difference that matters, percent")
	fl.StringArrayVar(&f.claims.Metrics, "metric", nil, "compare this metric, too (repeatable; docs/metrics.md lists them)")
	fl.StringArrayVar(&f.claims.FailIf, "fail-if", nil, "end in 1 where this holds of an arm against the first, as 'throughput < -5%' (repeatable)")
	f.document.add(c, "comparison")
	return c
}

// storedResults reads the files that are JSON; nil where the first one is not.
func storedResults(names []string) (files []compare.File, err error) {
	for i, name := range names {
		data, err := os.ReadFile(name)
		if i == 0 && (err != nil || !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		files = append(files, compare.File{Name: name, Data: data})
	}
	return files, nil
}

// measuringFlags are those that say nothing about what is stored.
var measuringFlags = []string{"a", "b", "c", "d", "arm", "runs", "boots", "warmup", "order", "seed", "calibrate", "testbed", "slaves", "bond", "yes", "take-addresses", "allow-virtual", "kernel", "modules", "module", "qemu", "set"}

func compareFiles(c *cobra.Command, files []compare.File, f compareFlags, verdict *int) error {
	for _, name := range measuringFlags {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s is about what is measured, and %s is a file of results: leave it out", name, files[0].Name)
		}
	}
	r, err := compare.Files(files, f.claims, version)
	if err != nil {
		return err
	}
	return printComparison(c, r, f.document, verdict)
}

func compareArms(c *cobra.Command, o reproducer.Options, f compareFlags, verdict *int) error {
	variants, err := f.arms.Variants()
	if err != nil {
		return err
	}
	return runArms(c, o, f, variants, verdict)
}

// runArms measures and compares; the scenario's own arms where there are no variants.
func runArms(c *cobra.Command, o reproducer.Options, f compareFlags, variants scenarios.Variants, verdict *int) error {
	if c.Flags().Changed("seed") && f.order.Kind != result.OrderRandom {
		return errors.New("--seed is for --order random")
	}
	base, arms, err := compare.Arms(compare.Base{Scenario: o.Scenario, Kernel: o.Kernel, Modules: o.Modules}, variants)
	if err != nil {
		return err
	}
	switch {
	case len(arms) == 1 && f.document.output == "":
		return fmt.Errorf("compare: the arm %s is the only one: give another, such as --b offload.tso=off, or keep it with -o FILE", arms[0].Name)
	case len(arms) == 1 && len(f.claims.FailIf) > 0:
		return fmt.Errorf("--fail-if: the arm %s is the only one, and there is no other to hold it against", arms[0].Name)
	case f.calibrate < 0:
		return fmt.Errorf("--calibrate %d: it must be 0 or more", f.calibrate)
	case c.Flags().Changed("runs") && f.order.Runs < 1:
		return fmt.Errorf("-n %d: it must be 1 at least", f.order.Runs)
	case c.Flags().Changed("boots") && f.order.Boots < 1:
		return fmt.Errorf("--boots %d: it must be 1 at least", f.order.Boots)
	}
	o.Scenario = base.Scenario
	shower := showProgress(c.ErrOrStderr())
	r, err := compare.Run(c.Context(), compare.NewSessions(o, arms), compare.Options{
		Scenario: base.Scenario, Set: o.Set, Arms: arms, Order: f.order, Claims: f.claims, Calibrate: f.calibrate, Tool: version, Progress: shower.Show,
	})
	shower.Stop()
	if err != nil {
		return err
	}
	return printComparison(c, r, f.document, verdict)
}

// comparedCodes maps what a comparison tells a script to the exit-code table.
var comparedCodes = map[compare.Judge]int{
	compare.Compared: exitcode.Good, compare.Failed: exitcode.Bad, compare.CannotTell: exitcode.CannotTell,
}

func printComparison(c *cobra.Command, r result.Comparison, d documentFlags, verdict *int) error {
	var document bytes.Buffer
	if err := result.EncodeComparison(&document, r); err != nil {
		return err
	}
	*verdict = comparedCodes[compare.Outcome(r)]
	return d.print(c, document.Bytes(), report.Comparison(r))
}
