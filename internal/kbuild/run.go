package kbuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"bondrepro/internal/osrun"
)

// patience is how long one build may take: far more than a distribution's whole config on a slow machine.
const patience = 12 * time.Hour

// build is what runs make, or a user's command, and understands how it ends.
type build struct {
	progress func(string)
	jobs     int
	log      *os.File // nil for none
	place    string   // folder that gets what is built
	source   string   // folder of what is built: left out of the reasons
}

// start opens the log, which close closes.
func start(progress func(string), jobs int, log, place, source string) (*build, error) {
	b := &build{progress: progress, jobs: jobs, place: place, source: source}
	if b.progress == nil {
		b.progress = func(string) {}
	}
	if b.jobs == 0 {
		b.jobs = runtime.NumCPU()
	}
	if log == "" {
		return b, nil
	}
	var err error
	if b.log, err = os.Create(log); err != nil {
		return nil, fmt.Errorf("the build's log: %w", err)
	}
	return b, nil
}

// close closes the log; its error comes beside that of the build.
func (b *build) close(err error) error {
	if b.log == nil {
		return err
	}
	if failed := b.log.Close(); failed != nil {
		return errors.Join(err, fmt.Errorf("the build's log: %w", failed))
	}
	return err
}

// make runs make in a folder, with variables of the environment on top of ours.
func (b *build) make(ctx context.Context, dir string, env []string, args ...string) error {
	// LOCALVERSION that is set, and empty, takes the "+" of a commit without a tag off the release (scripts/setlocalversion).
	env = append(append(environment(kbuilds...), "LOCALVERSION="), env...)
	args = append([]string{fmt.Sprintf("-j%d", b.jobs), "-C", dir}, args...)
	return b.run(ctx, osrun.Cmd{Path: "make", Args: args, Env: env})
}

// run runs one process of the build. An error is a *BuildError, or the machine's.
func (b *build) run(ctx context.Context, c osrun.Cmd) error {
	d := &diagnosis{}
	if b.log != nil {
		d.copy = b.log
		fmt.Fprintf(b.log, "+ %s %s\n", c.Path, strings.Join(c.Args, " ")) // what can't be written now is told by the next write
	}
	stdout, stderr := &stream{diagnosis: d}, &stream{diagnosis: d}
	c.Stdout, c.Stderr, c.Timeout = stdout, stderr, patience
	_, err := osrun.Run(ctx, c)
	stdout.end()
	stderr.end()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return d.explain(c.Path, err, b.place, b.source)
}

// recursive are the variables by which a make tells those it starts what to do. One that runs us must not have a say in ours.
var recursive = []string{"MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL"}

// kbuilds are variables that make kbuild build something else, or elsewhere, than our arguments say.
var kbuilds = []string{"ARCH", "SUBARCH", "CROSS_COMPILE", "KBUILD_OUTPUT", "KBUILD_EXTMOD", "KCONFIG_CONFIG", "KCONFIG_ALLCONFIG", "LOCALVERSION"}

// environment is this program's without some variables and with what both our make and a user's command get: messages in
// English, and the same image for the same code, whoever builds it, when, and how often
// (Documentation/kbuild/reproducible-builds.rst).
func environment(without ...string) []string {
	without = append(without, recursive...)
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(without, name)
	})
	return append(env, "LC_ALL=C",
		"KBUILD_BUILD_USER=bondrepro", "KBUILD_BUILD_HOST=bondrepro", "KBUILD_BUILD_VERSION=1",
		"KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970")
}
