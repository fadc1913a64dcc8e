package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"bondrepro/internal/exitcode"
	"bondrepro/internal/matrix"
	"bondrepro/internal/report"
	"bondrepro/reproducer"
	"bondrepro/reproducer/result"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
)

// matrixFlags are the flags of `matrix`.
type matrixFlags struct {
	dir, shard, engine string
	table              tableFlags
	slurm              matrix.Slurm
}

// tableFlags say where a table goes.
type tableFlags struct {
	output string
	json   bool
}

func (t *tableFlags) add(c *cobra.Command) {
	c.Flags().StringVarP(&t.output, "output", "o", "", "write the table, as JSON, to this file")
	c.Flags().BoolVar(&t.json, "json", false, "print the table as JSON instead of text")
}

func newMatrix(verdict *int) *cobra.Command {
	var f matrixFlags
	c := &cobra.Command{
		Use:   "matrix FILE -d DIR",
		Short: "Measure every cell of kernels × scenarios × settings, here or on many machines",
		Long: `Measure every cell of a matrix (kernels × scenarios × settings) in guests, one after the other, and print one table.

Each cell's result is a file in DIR as soon as it is there. A cell that has one is not measured again: the same command goes
on where an earlier one ended, and measures what is new in FILE.

--shard K/N measures one part of N. In a task of a Slurm array, in a pod of a Kubernetes indexed Job (with JOB_COMPLETIONS)
and in a GitLab job with parallel it is taken from the environment; 'bondrepro merge' then joins the parts.
--engine slurm submits an array to Slurm, follows it, has what is missing run again, and joins all of it.

Exit codes: 0 every cell has a result, whatever it says; 125 some have none; 128 usage or environment error; 130/143 interrupted.`,
		Example: `  bondrepro matrix kernels.yaml -d results
  bondrepro matrix kernels.yaml -d results --shard 2/6
  bondrepro matrix kernels.yaml -d results --engine slurm --partition metal`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("matrix: name one matrix file")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c); err != nil {
				return err
			}
			return runMatrix(c, args[0], f, verdict)
		},
	}
	c.Flags().StringVarP(&f.dir, "dir", "d", "", "folder of the results, made where it is not there")
	c.Flags().StringVar(&f.shard, "shard", "", "K/N: measure part K of N only (default: as Slurm, Kubernetes or GitLab say, else all)")
	c.Flags().StringVar(&f.engine, "engine", "here", "who measures: here (this process), slurm (an array of tasks)")
	c.Flags().IntVar(&f.slurm.Shards, "shards", 0, "tasks of the array (--engine slurm; default: one a cell)")
	c.Flags().StringVar(&f.slurm.Partition, "partition", "", "partition to submit to (--engine slurm; default: Slurm's own)")
	c.Flags().DurationVar(&f.slurm.Wait, "wait", matrix.DefaultWait, "how long to wait for an array, queueing included (--engine slurm)")
	f.table.add(c)
	return c
}

// check refuses flags that contradict each other.
func (f *matrixFlags) check(c *cobra.Command) error {
	if err := notEmpty(c, "dir", "shard", "partition", "output"); err != nil {
		return err
	}
	switch {
	case f.dir == "":
		return errors.New("matrix: -d DIR is missing: name a folder for the results")
	case f.engine != "here" && f.engine != "slurm":
		return fmt.Errorf("--engine %s: there is none of that name; use here or slurm", f.engine)
	case f.engine == "slurm" && f.shard != "":
		return errors.New("--shard and --engine slurm exclude each other: the array is all parts")
	case c.Flags().Changed("shards") && f.slurm.Shards < 1:
		return fmt.Errorf("--shards %d: it must be 1 at least", f.slurm.Shards)
	}
	for _, name := range []string{"shards", "partition", "wait"} {
		if f.engine != "slurm" && c.Flags().Changed(name) {
			return fmt.Errorf("--%s is for --engine slurm", name)
		}
	}
	return checkOutput(f.table.output)
}

func runMatrix(c *cobra.Command, file string, f matrixFlags, verdict *int) error {
	shard, from, err := matrix.ShardOf(f.shard, os.LookupEnv)
	if err != nil {
		return err
	}
	if f.engine == "slurm" && from != "" {
		return fmt.Errorf("--engine slurm submits all parts, and this is part %v as %s says: run it outside of that", shard, from)
	}
	plan, err := matrix.Read(file)
	if err != nil {
		return err
	}
	store := matrix.NewStore(f.dir)
	shower := showProgress(c.ErrOrStderr())
	defer shower.Stop()
	if from != "" {
		shower.Show(fmt.Sprintf("part %v, as %s says", shard, from))
	}
	bench := matrix.Bench{Run: reproducer.Run, Fingerprint: reproducer.Fingerprint}
	o := matrix.Options{Shard: shard, Version: version, Progress: shower.Show}
	if f.engine == "slurm" {
		f.slurm.File = file
		err = f.slurm.Run(c.Context(), plan, store, bench, o)
	} else {
		err = matrix.Run(c.Context(), plan, store, bench, o)
	}
	if err != nil {
		return err
	}
	table, err := matrix.Merge([]string{f.dir}, shard, version)
	if err != nil {
		return err
	}
	shower.Around(func() { err = f.table.print(c.OutOrStdout(), table, verdict) })
	return err
}

func newMerge(verdict *int) *cobra.Command {
	var t tableFlags
	c := &cobra.Command{
		Use:   "merge DIR…",
		Short: "Join the parts of a matrix into one table; names missing and double cells",
		Long: `Join folders that 'bondrepro matrix -d' wrote, all of one matrix, into one table. Cells without a result are named with the
reason, and so are cells that were measured more than once with different results.

Exit codes: 0 every cell has one answer, whatever it says; 125 cells are missing, or contradict each other; 128 usage error.`,
		Example: `  bondrepro merge part-1 part-2 part-3`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("merge: name at least one folder that 'bondrepro matrix -d' wrote")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := notEmpty(c, "output"); err != nil {
				return err
			}
			if err := checkOutput(t.output); err != nil {
				return err
			}
			table, err := matrix.Merge(args, matrix.Shard{}, version)
			if err != nil {
				return err
			}
			return t.print(c.OutOrStdout(), table, verdict)
		},
	}
	t.add(c)
	return c
}

// print writes the table where it is wanted, and sets the exit code.
func (t tableFlags) print(w io.Writer, table result.MatrixReport, verdict *int) error {
	text, err := json.MarshalIndent(table, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if t.output != "" {
		if err := renameio.WriteFile(t.output, text, 0o644); err != nil {
			return fmt.Errorf("-o %s: %w", t.output, err)
		}
	}
	if !t.json {
		text = []byte(report.Matrix(table))
	}
	if !table.Complete() {
		*verdict = exitcode.CannotTell
	}
	_, err = w.Write(text)
	return err
}
