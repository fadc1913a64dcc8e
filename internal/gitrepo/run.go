package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"bondrepro/internal/osrun"
)

// Deadlines of a git that looks something up, that walks a history, and that writes a whole tree to a slow disk.
const (
	lookUp = time.Minute
	walk   = 10 * time.Minute
	write  = 30 * time.Minute
)

// settings keep the user's configuration from what would get in the way: hooks, housekeeping in the middle of a bisect,
// advice and colours in what is parsed, signatures, recorded conflict resolutions.
var settings = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.quotePath=false", "gc.auto=0", "maintenance.auto=false",
	"advice.detachedHead=false", "color.ui=false", "log.showSignature=false", "commit.gpgSign=false",
	"rerere.enabled=false", "submodule.recurse=false", "checkout.defaultRemote=",
}

// kept are the GIT_* variables that say whose git and configuration this is. All others say which repository a surrounding
// git is about (git-rev-parse(1), --local-env-vars; `git bisect run` and hooks set some), and would lead us into that one.
var kept = []string{
	"GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_",
	"GIT_CONFIG_VALUE_", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
}

// ours speaks one language, asks nobody anything, and takes no lock to look.
var ours = []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat"}

// environment is what git runs with, made of this program's own.
func environment(own []string) []string {
	var env []string
	for _, v := range own {
		if !strings.HasPrefix(v, "GIT_") || keeps(v) {
			env = append(env, v)
		}
	}
	return append(env, ours...)
}

func keeps(variable string) bool {
	for _, k := range kept {
		if strings.HasPrefix(variable, k+"=") || strings.HasSuffix(k, "_") && strings.HasPrefix(variable, k) {
			return true
		}
	}
	return false
}

// run starts git in a folder and gives what it wrote.
func run(ctx context.Context, dir string, limit time.Duration, args ...string) (string, error) {
	var all []string
	for _, s := range settings {
		all = append(all, "-c", s)
	}
	out, err := osrun.Run(ctx, osrun.Cmd{
		Path: "git", Args: append(all, args...), Dir: dir, Env: environment(os.Environ()), Timeout: limit,
	})
	if errors.Is(err, osrun.ErrNotFound) {
		return "", &UserError{"there is no git in $PATH: install it"}
	}
	if err != nil {
		return string(out.Stdout), &Error{Command: args[0], Dir: dir, Said: said(string(out.Stderr)), Err: err}
	}
	return string(out.Stdout), nil
}

// Error is a git that failed.
type Error struct {
	Command string // as "rev-list"
	Dir     string
	Said    string // git's own sentence, may be empty
	Err     error  // the *osrun.Error
}

// Error names the command, the folder and git's own words, and how it ended where git said nothing.
func (e *Error) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("git %s in %s: %v", e.Command, e.Dir, e.Err)
	}
	return fmt.Sprintf("git %s in %s: %s", e.Command, e.Dir, e.Said)
}

// Unwrap gives the process's error.
func (e *Error) Unwrap() error { return e.Err }

// said is git's sentence: what it died of, else the first error, else the first line.
func said(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, mark := range []string{"fatal: ", "error: "} {
		for _, l := range lines {
			if text, ok := strings.CutPrefix(l, mark); ok {
				return text
			}
		}
	}
	return lines[0]
}

// exited tells whether git ended of itself with that code.
func exited(err error, code int) bool {
	var failed *osrun.Error
	return errors.As(err, &failed) && failed.Err == nil && failed.ExitCode == code
}

// UserError is a mistake in what the user gave, or a repository that can't be used: one sentence.
type UserError struct{ Message string }

// Error is the sentence.
func (e *UserError) Error() string { return e.Message }

func userf(format string, args ...any) error { return &UserError{fmt.Sprintf(format, args...)} }
