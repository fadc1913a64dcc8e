package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"bondrepro/internal/kernel"
	"bondrepro/scenarios"

	"github.com/spf13/cobra"
)

func newKernels() *cobra.Command {
	c := &cobra.Command{
		Use:   "kernels",
		Short: "List, fetch and drop the distribution's kernels",
		Long: `List the kernels that the distribution's package system offers, fetch some into the cache, or make the cache smaller.

A package is named as PACKAGE or PACKAGE=VERSION; a PATTERN has *, ? or [ in it and stands for all versions of all kernels
whose name matches. 'run --kernel deb:PACKAGE=VERSION' boots one, 'bisect packages deb:PATTERN SCENARIO' finds the first bad one.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("kernels: name what to do: list, fetch or prune")
		},
	}
	c.AddCommand(newKernelsList(), newKernelsFetch(), newKernelsPrune())
	return c
}

func newKernelsList() *cobra.Command {
	return &cobra.Command{
		Use:   "list [PATTERN…]",
		Short: "List kernels in the order of their versions",
		Long: `List the kernels that the package system offers or the cache holds, in the order of their versions. Without a PATTERN all are listed,
but for real-time kernels ('*-rt-*' lists them), unsigned copies of signed ones, and debugging symbols.`,
		Example: `  bondrepro kernels list 'linux-image-6.1.0-*-cloud-amd64'`,
		RunE: func(c *cobra.Command, patterns []string) error {
			if len(patterns) == 0 {
				patterns = []string{"*"}
			}
			list, err := kernel.Candidates(c.Context(), debSpecs(patterns), kernel.Options{})
			if err != nil {
				return err
			}
			return printKernels(c.OutOrStdout(), list)
		},
	}
}

func newKernelsFetch() *cobra.Command {
	limit := scenarios.Size(kernel.DefaultCacheLimit)
	c := &cobra.Command{
		Use:   "fetch PATTERN…",
		Short: "Fetch kernels into the cache",
		Long: `Fetch kernels into the cache and print their files. What was used least recently goes out of the cache when it holds more
than --cache-limit.`,
		Example: `  bondrepro kernels fetch linux-image-cloud-amd64
  bondrepro kernels fetch 'linux-image-6.1.0-5?-cloud-amd64'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, patterns []string) error {
			if limit <= 0 {
				return errors.New("--cache-limit: it must be more than 0")
			}
			shower := showProgress(c.ErrOrStderr())
			defer shower.Stop()
			opt := kernel.Options{CacheLimit: int64(limit), Progress: shower.Show}
			list, err := kernel.Candidates(c.Context(), debSpecs(patterns), opt)
			if err != nil {
				return err
			}
			for _, k := range list {
				opt.Keep = append(opt.Keep, k.ID())
			}
			for _, k := range list {
				file, err := kernel.Fetch(c.Context(), k, opt)
				if err != nil {
					return err
				}
				shower.Around(func() { fmt.Fprintln(c.OutOrStdout(), file) })
			}
			return nil
		},
	}
	c.Flags().TextVar(&limit, "cache-limit", limit, "how much the cache may hold, as 500MB or 4GiB")
	return c
}

func newKernelsPrune() *cobra.Command {
	limit := scenarios.Size(kernel.DefaultCacheLimit)
	var dry bool
	c := &cobra.Command{
		Use:   "prune",
		Short: "Drop from the cache what was used least recently",
		Long: `Drop packages and their files from the cache, those first that were used least recently, until it holds no more than --limit.
What another command uses now stays. Modules that were built are not counted, and stay.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 0 {
				return errors.New("--limit: it must not be less than 0")
			}
			p, err := kernel.Prune(kernel.Options{}, kernel.PruneOptions{Limit: int64(limit), DryRun: dry})
			if err != nil {
				return err
			}
			word := "removed"
			if dry {
				word = "would remove"
			}
			for _, k := range p.Removed {
				fmt.Fprintf(c.OutOrStdout(), "%s %s (%s, used %s)\n", word, k.Path, mib(k.Size), k.Used.Format("2006-01-02 15:04"))
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "in the cache: %s of at most %s\n", mib(p.Left), mib(int64(limit)))
			return err
		},
	}
	c.Flags().TextVar(&limit, "limit", limit, "how much the cache may hold, as 500MB or 4GiB; 0 empties it")
	c.Flags().BoolVar(&dry, "dry-run", false, "only tell what would go")
	return c
}

// debSpecs are the specs of packages and patterns; deb: may be there already.
func debSpecs(patterns []string) (specs []string) {
	for _, p := range patterns {
		specs = append(specs, "deb:"+strings.TrimPrefix(p, "deb:"))
	}
	return specs
}

func printKernels(w io.Writer, list []kernel.Candidate) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PACKAGE\tVERSION\tSIZE\tCACHED")
	for _, k := range list {
		cached := "no"
		if k.Cached {
			cached = "yes"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", k.Package, k.Version, mib(k.Size), cached)
	}
	return t.Flush()
}

// mib writes a number of bytes for people.
func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
