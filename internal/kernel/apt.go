package kernel

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"bondrepro/internal/osrun"
)

const (
	// fetchTimeout bounds one download.
	fetchTimeout = 10 * time.Minute
	// indexTimeout bounds one look into the index; after an update of it, apt-cache builds its own files first.
	indexTimeout = 2 * time.Minute
)

// aptGet is how packages come; tests replace it.
type aptGet struct {
	// download puts the .deb of a package, NAME or NAME=VERSION, into dir.
	download func(ctx context.Context, dir, what string) error
	// index gives what apt-cache(8) prints with these arguments.
	index func(ctx context.Context, args ...string) ([]byte, error)
	// lists is where apt keeps its package lists.
	lists string
}

var systemApt = aptGet{download: aptDownload, index: aptCache, lists: "/var/lib/apt/lists"}

func aptDownload(ctx context.Context, dir, what string) error {
	_, err := osrun.Run(ctx, osrun.Cmd{Path: "apt-get", Args: []string{"download", what}, Dir: dir, Env: plainEnv(), Timeout: fetchTimeout})
	return err
}

func aptCache(ctx context.Context, args ...string) ([]byte, error) {
	out, err := osrun.Run(ctx, osrun.Cmd{Path: "apt-cache", Args: args, Env: plainEnv(), Timeout: indexTimeout})
	return out.Stdout, err
}

// plainEnv makes programs speak English.
func plainEnv() []string { return append(os.Environ(), "LC_ALL=C") }

// hasLists tells whether apt has an index at all.
func (a aptGet) hasLists() bool {
	lists, _ := filepath.Glob(filepath.Join(escapeGlob(a.lists), "*_Packages*")) // the pattern is well-formed
	return len(lists) > 0
}

// offers reads the index's records of the named packages that can be had and are for our architecture. None, and a machine without apt-cache, are no error.
func (a aptGet) offers(ctx context.Context, names []string) ([]record, error) {
	if len(names) == 0 {
		return nil, nil
	}
	text, err := a.index(ctx, append([]string{"show"}, names...)...)
	if err != nil && !isNothing(err) {
		return nil, err
	}
	// A package that is installed has a record, too, without a place to have it from.
	return slices.DeleteFunc(parseRecords(text), func(r record) bool { return !r.offered || r.architecture != architecture }), nil
}

var noPackages = regexp.MustCompile(`(?m)^E: (No packages found|Unable to locate package)`)

// isNothing tells an apt-cache that found nothing, or is not there, from one that failed.
func isNothing(err error) bool {
	var run *osrun.Error
	if errors.Is(err, osrun.ErrNotFound) {
		return true
	}
	// "E: No packages found" ends in 100, too, as every error of apt's does.
	return errors.As(err, &run) && run.Err == nil && run.Signal == 0 && noPackages.MatchString(run.Tail)
}
