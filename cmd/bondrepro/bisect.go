package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"bondrepro/internal/bisect"
	"bondrepro/internal/exitcode"
	"bondrepro/internal/kernel"
	"bondrepro/internal/report"
	"bondrepro/reproducer"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"

	"github.com/spf13/cobra"
)

func newBisect(verdict *int) *cobra.Command {
	c := &cobra.Command{
		Use:   "bisect",
		Short: "Find the commit, the module's change or the package that brought a symptom",
		Long: `Find the first commit, change of a module, or distribution kernel that shows a symptom, though it be flaky.

Everything is measured in guests. The ends are measured first; how often the bad end shows the symptom decides how many
boots a step takes. At the end both sides of the culprit are booted again. Each step is in a journal before the next one
begins: 'bondrepro bisect resume' goes on after Ctrl-C, a crash or a reboot.

Exit codes: 0 it named the culprit (or, for 'step', the point is good), 1 a step is bad, 125 it can't be told, 128 usage or
environment error, 130/143 interrupted.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("bisect: name a command: step, tree, module, packages, resume, status or log")
		},
	}
	c.AddCommand(newBisectStep(verdict), newBisectTree(verdict), newBisectModule(verdict), newBisectPackages(verdict),
		newBisectResume(verdict), newBisectStatus(), newBisectLog())
	return c
}

// bisectFlags are those of every bisect that drives itself.
type bisectFlags struct {
	params bisect.Params
	sets   []string
	dir    string
	asJSON bool
}

func (b *bisectFlags) add(c *cobra.Command, end string) {
	f := c.Flags()
	f.StringVar(&b.params.Good, "good", "", end+" that does not show the symptom")
	f.StringVar(&b.params.Bad, "bad", "", end+" that shows the symptom")
	f.BoolVar(&b.params.FindFix, "find-fix", false, "the bad end is the older one: find what ended the symptom")
	f.Float64Var(&b.params.Confidence, "confidence", 0.99, "probability, at least, that the culprit named is the right one")
	f.StringArrayVar(&b.sets, "set", nil, "PATH=VALUE: set a field of the scenario (repeatable)")
	f.StringVar(&b.params.QEMU, "qemu", "", "QEMU program (default qemu-system-x86_64)")
	f.StringVar(&b.dir, "dir", "", "folder for the journal and the results (default bondrepro-bisect in the git directory or, without one, here)")
	f.StringVarP(&b.params.Output, "output", "o", "", "write the report as JSON to this file")
	f.BoolVar(&b.asJSON, "json", false, "print the report as JSON instead of text")
}

// begin runs the bisect that the flags ask for.
func (b *bisectFlags) begin(c *cobra.Command, kind, scenario string, verdict *int) (err error) {
	if err := notEmpty(c, "good", "bad", "qemu", "dir", "output"); err != nil {
		return err
	}
	if err := checkOutput(b.params.Output); err != nil {
		return err
	}
	p := b.params
	p.Kind, p.Tool = kind, version
	if p.Scenario, err = loadScenario(scenario, b.sets); err != nil {
		return err
	}
	if p.Output, err = absolute(p.Output); err != nil {
		return err
	}
	folder, err := absolute(b.dir)
	if err == nil && folder == "" {
		folder, err = bisect.Folder(c.Context(), p)
	}
	if err != nil {
		return err
	}
	return drive(c, b.asJSON, verdict, func(env bisect.Env) (result.BisectReport, error) {
		return bisect.Begin(c.Context(), folder, p, env)
	})
}

// drive runs a bisect, shows what it does, and prints its report.
func drive(c *cobra.Command, asJSON bool, verdict *int, run func(bisect.Env) (result.BisectReport, error)) error {
	shower := showProgress(c.ErrOrStderr())
	env := bisect.Env{
		Log:      func(line string) { shower.Around(func() { fmt.Fprintln(c.ErrOrStderr(), line) }) },
		Progress: shower.Show,
	}
	r, err := run(env)
	shower.Stop()
	if err != nil {
		return unclear(err)
	}
	if r.Culprit == "" {
		*verdict = exitcode.CannotTell
	}
	if asJSON {
		return json.NewEncoder(c.OutOrStdout()).Encode(r)
	}
	_, err = fmt.Fprint(c.OutOrStdout(), report.Bisect(r))
	return err
}

// unclear gives a bisect without an answer its exit code.
func unclear(err error) error {
	var none *bisect.UnclearError
	if errors.As(err, &none) {
		return &exitcode.Error{Code: exitcode.CannotTell, Err: err}
	}
	return err
}

// absolute makes a file's name good for any folder a bisect is resumed in; none stays none.
func absolute(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	return filepath.Abs(name)
}

// required refuses a command that lacks a flag it can't do without.
func required(c *cobra.Command, names ...string) error {
	for _, name := range names {
		if !c.Flags().Changed(name) {
			return fmt.Errorf("bisect %s: --%s is missing", c.Name(), name)
		}
	}
	return nil
}

func newBisectTree(verdict *int) *cobra.Command {
	var b bisectFlags
	o := &bisect.TreeOptions{}
	c := &cobra.Command{
		Use:   "tree SCENARIO",
		Short: "Bisect a kernel tree: check out, build, boot and measure its commits",
		Long: `Bisect the kernel tree that a git repository holds. Commits are checked out in a worktree of its own, so that the user's
checkout stays untouched, and built out of tree with the config fragment of 'bondrepro kconfig'.`,
		Example: `  bondrepro bisect tree --good v6.1 --bad v6.2 --path net --path drivers/net/bonding bond-multicast-tx`,
		Args:    oneScenario,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if err := required(c, "good", "bad"); err != nil {
				return err
			}
			if err := notEmpty(c, "repo", "config", "build"); err != nil {
				return err
			}
			if o.Repo, err = filepath.Abs(o.Repo); err != nil {
				return err
			}
			if o.Config, err = absolute(o.Config); err != nil {
				return err
			}
			b.params.Tree = o
			return b.begin(c, "tree", args[0], verdict)
		},
	}
	b.add(c, "revision")
	f := c.Flags()
	f.StringVar(&o.Repo, "repo", ".", "folder in the kernel's repository")
	f.StringArrayVar(&o.Paths, "path", nil, "only commits that touch this path of the repository (repeatable)")
	f.StringVar(&o.Config, "config", "", "a .config to begin with, in place of allnoconfig")
	f.StringVar(&o.Build, "build", "", "shell command that builds the tree it stands in, in place of our own make")
	return c
}

func newBisectModule(verdict *int) *cobra.Command {
	var b bisectFlags
	o := &bisect.ModuleOptions{}
	c := &cobra.Command{
		Use:   "module SCENARIO",
		Short: "Bisect one module's source: build it at each step for a fixed kernel",
		Long: `Bisect the history of one module. At each step only the module is built, against fixed headers, and put in place of the
fixed kernel's own.`,
		Example: `  bondrepro bisect module --module bonding --source drivers/net/bonding --headers /lib/modules/6.1.0-57-cloud-amd64/build \
      --kernel deb:linux-image-6.1.0-57-cloud-amd64 --good v1.0 --bad HEAD bond-multicast-tx`,
		Args: oneScenario,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if err := required(c, "module", "source", "headers", "kernel", "good", "bad"); err != nil {
				return err
			}
			if err := notEmpty(c, "module", "source", "headers", "kernel"); err != nil {
				return err
			}
			if strings.ContainsAny(o.Name, "=/.") {
				return fmt.Errorf("--module %s: it must be the module's name alone, as in bonding", o.Name)
			}
			for _, name := range []*string{&o.Source, &o.Headers} {
				if *name, err = filepath.Abs(*name); err != nil {
					return err
				}
			}
			if o.Kernel, err = bisect.AbsoluteKernel(o.Kernel); err != nil {
				return err
			}
			b.params.Module = o
			return b.begin(c, "module", args[0], verdict)
		},
	}
	b.add(c, "revision")
	f := c.Flags()
	f.StringVar(&o.Name, "module", "", "name of the module, as bonding")
	f.StringVar(&o.Source, "source", "", "folder of the module's source, in its repository")
	f.StringVar(&o.Headers, "headers", "", "folder of the kernel's headers, as /lib/modules/RELEASE/build")
	f.StringVar(&o.Kernel, "kernel", "", "kernel to boot, as of 'run'; "+reproducer.DefaultKernel+" is one")
	return c
}

func newBisectPackages(verdict *int) *cobra.Command {
	var b bisectFlags
	var modules []string
	limit := scenarios.Size(kernel.DefaultCacheLimit)
	o := &bisect.PackageOptions{}
	c := &cobra.Command{
		Use:   "packages KERNEL… SCENARIO",
		Short: "Bisect the kernels of a distribution, in the order of their versions",
		Long: `Bisect kernel packages: .deb files, folders of them, or deb:PATTERN, which is looked up in the package system's index. They
are put in the order of their versions; the oldest is taken for good and the newest for bad unless --good and --bad name
others. What may be needed next is downloaded meanwhile.`,
		Example: `  bondrepro bisect packages 'deb:linux-image-6.1.0-*-cloud-amd64' bond-multicast-tx`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("bisect packages: name the kernels, then the scenario ('bondrepro list' shows them)")
			}
			if last := args[len(args)-1]; strings.HasSuffix(last, ".deb") || strings.HasPrefix(last, "deb:") {
				return fmt.Errorf("bisect packages: the scenario comes last, and %s is a kernel ('bondrepro list' shows the scenarios)", last)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) (err error) {
			if limit <= 0 {
				return errors.New("--cache-limit: it must be more than 0")
			}
			o.CacheLimit = int64(limit)
			if err := notEmpty(c, "modules"); err != nil {
				return err
			}
			if o.ModulesDir, err = absolute(o.ModulesDir); err != nil {
				return err
			}
			if o.Modules, err = moduleFiles(modules); err != nil {
				return err
			}
			for name, file := range o.Modules {
				if o.Modules[name], err = filepath.Abs(file); err != nil {
					return err
				}
			}
			last := len(args) - 1
			for _, spec := range args[:last] {
				spec, err := bisect.AbsoluteKernel(spec)
				if err != nil {
					return err
				}
				o.Kernels = append(o.Kernels, spec)
			}
			b.params.Packages = o
			return b.begin(c, "packages", args[last], verdict)
		},
	}
	b.add(c, "package")
	c.Flags().StringVar(&o.ModulesDir, "modules", "", "folder with the modules of kernels whose packages hold none")
	c.Flags().TextVar(&limit, "cache-limit", limit, "how much the cache may hold, as 500MB or 4GiB; what was used least recently goes first")
	c.Flags().StringArrayVar(&modules, "module", nil, "NAME=FILE.ko: put this module in place of the own one of the kernel that it was built for (repeatable)")
	return c
}

// inFolder is the folder that --dir names, else that of the bisect which is meant here.
func inFolder(c *cobra.Command, dir string) (string, error) {
	if err := notEmpty(c, "dir"); err != nil {
		return "", err
	}
	if dir != "" {
		return filepath.Abs(dir)
	}
	return bisect.Find(c.Context())
}

func newBisectResume(verdict *int) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "resume",
		Short: "Go on with a bisect that was interrupted, killed or cut off by a reboot",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			folder, err := inFolder(c, dir)
			if err != nil {
				return err
			}
			return drive(c, asJSON, verdict, func(env bisect.Env) (result.BisectReport, error) {
				return bisect.Resume(c.Context(), folder, env)
			})
		},
	}
	addDir(c, &dir)
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON instead of text")
	return c
}

func newBisectStatus() *cobra.Command {
	return newBisectReader("status", "Tell how far a bisect is", bisect.Status)
}

func newBisectLog() *cobra.Command {
	return newBisectReader("log", "Print a bisect's journal", func(folder string) (text string, err error) {
		lines, err := bisect.Log(folder)
		for _, line := range lines {
			text += line + "\n"
		}
		return text, err
	})
}

// newBisectReader is a command that only reads a bisect's folder.
func newBisectReader(name, short string, read func(folder string) (string, error)) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			folder, err := inFolder(c, dir)
			if err != nil {
				return err
			}
			text, err := read(folder)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(c.OutOrStdout(), text)
			return err
		},
	}
	addDir(c, &dir)
	return c
}

func addDir(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "dir", "", "the bisect's folder (default that of the repository or folder we stand in)")
}
