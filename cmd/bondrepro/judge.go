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
	var asJSON bool
	c := &cobra.Command{
		Use:   "judge FILE…",
		Short: "Judge recorded results again",
		Long: `Judge the recordings in result files (written by 'run -o') again, without measuring anything.

The exit code is that of the worst verdict: bad, then cannot tell, then good.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("judge: name at least one result file, as 'bondrepro run -o FILE' writes it")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			results := make([]result.Result, 0, len(args))
			for _, name := range args {
				r, err := readResult(name)
				if err != nil {
					return err
				}
				results = append(results, r)
			}
			worst := exitcode.Good
			for i, r := range results {
				again := judge.Again(r)
				if err := printJudged(c, args[i], r, again, asJSON); err != nil {
					return err
				}
				worst = worse(worst, codeOf(again.Judgement.Verdict))
			}
			*verdict = worst
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the results as JSON, one a line")
	return c
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
