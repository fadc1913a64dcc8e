package main

import (
	"fmt"
	"os"
	"reflect"

	"bondrepro/internal/exitcode"
	"bondrepro/internal/judge"
	"bondrepro/internal/report"
	"bondrepro/reproducer/result"

	"github.com/spf13/cobra"
)

func newJudge(verdict *int) *cobra.Command {
	var receiver, output string
	var asJSON bool
	c := &cobra.Command{
		Use:   "judge FILE…",
		Short: "Judge recorded results again",
		Long: `Judge the recordings in result files (written by 'run -o') again, without measuring anything.

With --receiver each run gets the account that a receiver on another machine wrote of it ('receive -o'), in place of
any that it has.

The exit code is that of the worst verdict: bad, then cannot tell, then good.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("judge: name at least one result file, as 'bondrepro run -o FILE' writes it")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkJudgeFlags(c, args, output); err != nil {
				return err
			}
			results, err := readResults(args)
			if err != nil {
				return err
			}
			if err := addReceiver(results, receiver); err != nil {
				return err
			}
			worst := exitcode.Good
			for i, r := range results {
				again := judge.Again(r)
				if err := writeOutput(output, again); err != nil {
					return err
				}
				if err := printJudged(c, args[i], r, again, asJSON); err != nil {
					return err
				}
				worst = worse(worst, codeOf(again.Judgement.Verdict))
			}
			*verdict = worst
			return nil
		},
	}
	c.Flags().StringVar(&receiver, "receiver", "", "file of a receiver: its account of each run goes into the ledger")
	c.Flags().StringVarP(&output, "output", "o", "", "write the result as it is judged now to this file")
	c.Flags().BoolVar(&asJSON, "json", false, "print the results as JSON, one a line")
	return c
}

func checkJudgeFlags(c *cobra.Command, files []string, output string) error {
	if err := notEmpty(c, "receiver", "output"); err != nil {
		return err
	}
	if output != "" && len(files) > 1 {
		return fmt.Errorf("judge: -o %s takes one result, and %d are named", output, len(files))
	}
	return checkOutput(output)
}

func readResults(files []string) ([]result.Result, error) {
	results := make([]result.Result, 0, len(files))
	for _, name := range files {
		r, err := readResult(name)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// addReceiver gives every run the account that a receiver's file has of it. No name is no file.
func addReceiver(results []result.Result, name string) error {
	if name == "" {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("--receiver: %w", err)
	}
	f, err := result.DecodeReceiver(name, data)
	if err != nil {
		return fmt.Errorf("--receiver %w", err)
	}
	for _, r := range results {
		f.AddTo(r.Arms)
	}
	return nil
}

func readResult(name string) (result.Result, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return result.Result{}, err
	}
	return result.Decode(name, data)
}

func printJudged(c *cobra.Command, name string, was, is result.Result, asJSON bool) error {
	w := c.OutOrStdout()
	if !asJSON {
		fmt.Fprintf(w, "%s\n\n", name)
		fmt.Fprintln(w, report.Header(is.Config, is.Host, is.Guest, is.Arms[0].Preflight))
	}
	if err := printResult(w, is, asJSON); err != nil {
		return err
	}
	if !reflect.DeepEqual(was.Judgement, is.Judgement) {
		fmt.Fprintf(c.ErrOrStderr(), "bondrepro: %s: judged %s when it was written (by %s), %s now\n", name, was.Judgement.Verdict, was.Tool, is.Judgement.Verdict)
	}
	return nil
}

// worse ranks bad over cannot tell over good.
func worse(a, b int) int {
	for _, code := range []int{exitcode.Bad, exitcode.CannotTell} {
		if a == code || b == code {
			return code
		}
	}
	return exitcode.Good
}
