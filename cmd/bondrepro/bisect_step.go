package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"bondrepro/internal/bisect"
	"bondrepro/internal/exitcode"
	"bondrepro/internal/report"
	"bondrepro/reproducer/result"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
)

// ownBuild is the value of a --build without one. It is no command that anybody means.
const ownBuild = "our own make"

func newBisectStep(verdict *int) *cobra.Command {
	var o bisect.StepOptions
	var sets, modules []string
	var output string
	c := &cobra.Command{
		Use:   "step SCENARIO",
		Short: "Judge the commit that is checked out, for git bisect run",
		Long: `Judge the commit that is checked out, in guests, and end in what git bisect run understands: 0 good, 1 bad, 125 skip it
(it does not build, boot or measure), 128 stop (something here is wrong, and no commit's fault).

It takes the kernel tree that it stands in, built by you before, or by --build; or a kernel that --kernel names, with a module
that a command of --build has built. While a git bisect is under way, all steps share the line rate of the first one, a
step that is bad for another reason than the first bad one is skipped, and what was booted before is not booted again. So run
it once on the bad end before 'git bisect run'.

Not 'git bisect run make …': make ends in 2 whatever went wrong, which git takes for a bad commit.`,
		Example: `  git bisect start BAD GOOD && git checkout BAD && bondrepro bisect step --build bond-multicast-tx
  git bisect run bondrepro bisect step --build bond-multicast-tx
  git bisect run bondrepro bisect step --kernel deb:linux-image-6.1.0-57-cloud-amd64 --module bonding=bonding.ko \
      --build='make -C /lib/modules/6.1.0-57-cloud-amd64/build M=$PWD modules' bond-multicast-tx`,
		Args: oneScenario,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if err := notEmpty(c, "kernel", "modules", "qemu", "build", "output"); err != nil {
				return err
			}
			if err := checkOutput(output); err != nil {
				return err
			}
			if o.Run.Scenario, err = loadScenario(args[0], sets); err != nil {
				return err
			}
			if o.Run.Modules, err = moduleFiles(modules); err != nil {
				return err
			}
			o.Run.Set, o.Run.Version = sets, version
			o.Build = c.Flags().Changed("build")
			if o.Command == ownBuild {
				o.Command = ""
			}
			return runStep(c, o, output, verdict)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Run.Kernel, "kernel", "", "kernel to boot, as of 'run', in place of the tree it stands in")
	f.StringVar(&o.Run.ModulesDir, "modules", "", "folder with the modules of a bzImage")
	f.StringArrayVar(&modules, "module", nil, "NAME=FILE.ko: put this module in place of the kernel's own (repeatable)")
	f.StringVar(&o.Command, "build", "", "build first: by our own make out of tree, or by the shell command --build=CMD in the top folder of the tree")
	f.Lookup("build").NoOptDefVal = ownBuild
	f.StringVar(&o.Run.QEMU, "qemu", "", "QEMU program (default qemu-system-x86_64)")
	f.StringArrayVar(&sets, "set", nil, "PATH=VALUE: set a field of the scenario (repeatable)")
	f.StringVarP(&output, "output", "o", "", "write the step as JSON to this file")
	return c
}

// stepCodes are the exit codes of a step's outcomes.
var stepCodes = map[string]int{"good": exitcode.Good, "bad": exitcode.Bad, "skipped": exitcode.CannotTell}

func runStep(c *cobra.Command, o bisect.StepOptions, output string, verdict *int) error {
	shower := showProgress(c.ErrOrStderr())
	o.Run.Progress = shower.Show
	o.Log = func(line string) { shower.Around(func() { fmt.Fprintln(c.ErrOrStderr(), line) }) }
	step, err := bisect.Step(c.Context(), o)
	shower.Stop()
	if err != nil {
		return err
	}
	*verdict = stepCodes[step.Outcome]
	_, err = fmt.Fprint(c.OutOrStdout(), report.Step(step))
	return errors.Join(err, writeStep(output, step))
}

// writeStep writes the whole step or nothing. No name is no file.
func writeStep(name string, step result.BisectStep) error {
	if name == "" {
		return nil
	}
	data, err := json.MarshalIndent(step, "", "  ")
	if err == nil {
		err = renameio.WriteFile(name, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("-o %s: %w", name, err)
	}
	return nil
}
