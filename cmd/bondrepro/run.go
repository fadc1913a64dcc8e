package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"bondrepro/internal/compare"
	"bondrepro/internal/exitcode"
	"bondrepro/internal/progress"
	"bondrepro/internal/report"
	"bondrepro/reproducer"
	"bondrepro/reproducer/result"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// codeOf maps a verdict to the exit-code table; what is no verdict tells nothing.
func codeOf(v result.Verdict) int {
	switch v {
	case result.Good:
		return exitcode.Good
	case result.Bad:
		return exitcode.Bad
	}
	return exitcode.CannotTell
}

func newRun(verdict *int) *cobra.Command {
	var o reproducer.Options
	var sets, modules []string
	var output string
	var asJSON bool
	c := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Measure a scenario and judge it",
		Long: `Measure a scenario (a name of 'bondrepro list', or a YAML file) and judge it. The arms of a scenario that has some are
compared, as 'bondrepro compare' does.

The kernel under test boots in QEMU (--testbed vm), or is the running one, in namespaces of its own (--testbed netns).
Either way nothing on this machine is changed and no root is needed. What names a kernel or a module is for a guest.

With --testbed host it measures on real ports, as root. What they are is written down before the first change, and put
back at the end, whatever ends it; after a SIGKILL or a power cut, by 'bondctl restore'. Ports that are used for
something are refused; 'bondrepro doctor --slaves' tells why, and what to do. Switches send multicast that nobody asked
them for out of every port: give the ports a switch or a VLAN of their own, or cable them to another machine.

` + exitCodes,
		Example: `  bondrepro run bond-multicast-tx
  bondrepro run bond-multicast-tx --kernel ./linux --set traffic.senders=8
  bondrepro run bond-multicast-tx --module bonding=./bonding.ko -o result.json
  bondrepro run bond-multicast-tx --testbed host --slaves eth1,eth2`,
		Args: oneScenario,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if err := checkRunFlags(c, o, output); err != nil {
				return err
			}
			if o.Scenario, err = loadScenario(args[0], sets); err != nil {
				return err
			}
			o.Set = sets
			o.Version = version
			o.Host.Command = strings.Join(os.Args, " ")
			if o.Modules, err = moduleFiles(modules); err != nil {
				return err
			}
			if len(o.Scenario.Arms) > 0 {
				return runComparison(c, o, documentFlags{output: output, json: asJSON}, verdict)
			}
			return run(c, o, output, asJSON, verdict)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Testbed, "testbed", "auto", "where to measure: vm (a guest), netns (the running kernel), host (real ports), auto (netns where the running kernel can, else vm)")
	addPorts(c, &o.Host)
	f.BoolVar(&o.Host.Control, "control", false, "measure the positive control on --bond, too")
	f.StringVar(&o.Kernel, "kernel", "", "kernel to boot in a guest: a .deb, a bzImage, a built kernel tree, deb:PACKAGE (fetched by apt-get), or host; a guest that no kernel is named for boots "+reproducer.DefaultKernel)
	f.StringVar(&o.ModulesDir, "modules", "", "folder with the modules of a bzImage")
	f.StringArrayVar(&modules, "module", nil, "NAME=FILE.ko: put this module in place of the kernel's own (repeatable)")
	f.StringVar(&o.QEMU, "qemu", "", "QEMU program (default qemu-system-x86_64)")
	f.StringVar(&o.Pcap, "pcap", "", "write every frame at the wire to this file")
	f.StringVar(&o.Receiver, "receiver", "", "file that 'bondrepro receive -o FILE' writes at the far end of real ports: what arrived there goes into the ledger")
	f.StringArrayVar(&sets, "set", nil, "PATH=VALUE: set a field of the scenario (repeatable)")
	f.BoolVar(&o.NoControl, "no-control", false, "leave out the positive control")
	f.StringVarP(&output, "output", "o", "", "write the result, with every recording, to this file")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON instead of text")
	return c
}

// addPorts adds the flags that name real ports and say what may be done with them.
func addPorts(c *cobra.Command, h *reproducer.HostOptions) {
	f := c.Flags()
	f.StringSliceVar(&h.Slaves, "slaves", nil, "real ports to build the bond of, as eth1,eth2 (--testbed host)")
	f.StringVar(&h.Bond, "bond", "", "a bond that is there, measured as it is instead (--testbed host)")
	f.BoolVar(&h.Yes, "yes", false, "load the ports of --bond, though they are in use")
	f.BoolVar(&h.TakeAddresses, "take-addresses", false, "addresses of the ports may be taken off; they are put back")
	f.BoolVar(&h.AllowVirtual, "allow-virtual", false, "take virtual interfaces for ports, too")
}

func run(c *cobra.Command, o reproducer.Options, output string, asJSON bool, verdict *int) error {
	stdout := c.OutOrStdout()
	shower := showProgress(c.ErrOrStderr())
	o.Progress = shower.Show
	if !asJSON {
		o.Ready = func(cfg result.Config, host result.Host, guest *result.Guest, pf result.Preflight) {
			shower.Around(func() { fmt.Fprintln(stdout, report.Header(cfg, host, guest, pf)) })
		}
	}
	r, failed := reproducer.Run(c.Context(), o)
	shower.Stop()
	if r.Judgement.Verdict == "" {
		return failed
	}
	if err := writeOutput(output, r); err != nil {
		return errors.Join(err, failed)
	}
	*verdict = codeOf(r.Judgement.Verdict)
	return errors.Join(printResult(stdout, r, asJSON), failed)
}

// runComparison compares the arms of a scenario that has some, as `compare` does without flags.
func runComparison(c *cobra.Command, o reproducer.Options, d documentFlags, verdict *int) error {
	for _, name := range []string{"control", "pcap", "receiver", "no-control"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s: the scenario %s compares arms, which have no such thing", name, o.Scenario.Name)
		}
	}
	f := compareFlags{order: result.Order{Warmup: compare.DefaultWarmup}, claims: compare.Claims{Minimum: compare.DefaultMinimum}, document: d}
	return runArms(c, o, f, nil, verdict)
}

func printResult(w io.Writer, r result.Result, asJSON bool) error {
	if asJSON {
		return result.Encode(w, r)
	}
	_, err := fmt.Fprint(w, report.Text(r))
	return err
}

// showProgress shows on stderr; where that is no file (in tests) it writes lines.
func showProgress(w io.Writer) *progress.Shower {
	if f, ok := w.(*os.File); ok {
		return progress.New(f)
	}
	return progress.Lines(w)
}

func moduleFiles(flags []string) (map[string]string, error) {
	files := map[string]string{}
	for _, f := range flags {
		name, file, ok := strings.Cut(f, "=")
		if !ok || name == "" || file == "" {
			return nil, fmt.Errorf("--module %s: it must be NAME=FILE, as in bonding=./bonding.ko", f)
		}
		if earlier, twice := files[name]; twice {
			return nil, fmt.Errorf("--module %s: %s was given already, as %s", f, name, earlier)
		}
		files[name] = file
	}
	return files, nil
}

// checkRunFlags refuses what would be found out only after the measurement, or never.
func checkRunFlags(c *cobra.Command, o reproducer.Options, output string) error {
	if err := notEmpty(c, "kernel", "modules", "qemu", "pcap", "output", "testbed", "receiver"); err != nil {
		return err
	}
	if output != "" && output == o.Pcap {
		return fmt.Errorf("-o and --pcap name the same file: %s", output)
	}
	return checkOutput(output)
}

// notEmpty refuses flags that are given and have no value, like an unset variable of a script.
func notEmpty(c *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return fmt.Errorf("--%s is empty: give it a value or leave it out", name)
		}
	}
	return nil
}

// checkOutput makes sure, before anything is measured, that the file can be written; nothing is left behind by a
// command that is killed meanwhile. No name is no file.
func checkOutput(name string) error {
	if name == "" {
		return nil
	}
	st, err := os.Stat(name)
	switch {
	case err == nil && st.IsDir():
		return fmt.Errorf("-o %s: it is a folder: name a file in it", name)
	case err == nil && !st.Mode().IsRegular():
		return fmt.Errorf("-o %s: it is no regular file; --json prints the result to standard output", name)
	}
	if err := unix.Access(filepath.Dir(name), unix.W_OK); err != nil {
		return fmt.Errorf("-o %s: no file can be written to its folder: %w", name, err)
	}
	return nil
}

// writeOutput writes the whole result or nothing.
func writeOutput(name string, r result.Result) error {
	if name == "" {
		return nil
	}
	var b bytes.Buffer
	if err := result.Encode(&b, r); err != nil {
		return fmt.Errorf("-o %s: %w", name, err)
	}
	if err := renameio.WriteFile(name, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("-o %s: %w", name, err)
	}
	return nil
}
