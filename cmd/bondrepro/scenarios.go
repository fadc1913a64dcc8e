package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"bondrepro/scenarios"

	"github.com/spf13/cobra"
)

// oneScenario is the argument rule of every command that takes one scenario.
func oneScenario(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s: name one scenario ('bondrepro list' shows them) or a YAML file", c.Name())
	}
	return nil
}

// loadScenario reads a scenario by name or file, applies the assignments in order and checks the whole.
func loadScenario(name string, sets []string) (scenarios.Scenario, error) {
	sc, err := setScenario(name, sets)
	if err != nil {
		return sc, err
	}
	return sc, sc.Validate()
}

// setScenario is loadScenario without the check of the whole: what is measured without a verdict need not go with a control.
func setScenario(name string, sets []string) (scenarios.Scenario, error) {
	sc, err := readScenario(name)
	if err != nil {
		return sc, err
	}
	for _, s := range sets {
		if err := sc.Set(s); err != nil {
			return sc, fmt.Errorf("--set: %w", err)
		}
	}
	return sc, nil
}

func readScenario(name string) (scenarios.Scenario, error) {
	if !scenarios.IsFile(name) {
		sc, _, err := scenarios.Load(name)
		return sc, err
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return scenarios.Scenario{}, fmt.Errorf("scenario file: %w", err)
	}
	return scenarios.Parse(name, src)
}

func newList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the scenarios that come with bondrepro",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range scenarios.Names() {
				sc, _, err := scenarios.Load(name)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.OutOrStdout(), "%-24s %s\n", name, sc.Summary)
			}
			return nil
		},
	}
}

func newShow() *cobra.Command {
	var sets []string
	var source bool
	c := &cobra.Command{
		Use:   "show SCENARIO",
		Short: "Print a scenario with every effective value, or its own text",
		Args:  oneScenario,
		RunE: func(c *cobra.Command, args []string) error {
			if source {
				return showSource(c.OutOrStdout(), args[0])
			}
			sc, err := loadScenario(args[0], sets)
			if err != nil {
				return err
			}
			text, err := scenarios.Marshal(sc)
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "PATH=VALUE: set a field of the scenario (repeatable)")
	c.Flags().BoolVar(&source, "source", false, "print the file of a scenario that comes with bondrepro, with its comments")
	c.MarkFlagsMutuallyExclusive("set", "source")
	return c
}

// showSource prints the text of a scenario that comes with the program.
func showSource(w io.Writer, name string) error {
	if scenarios.IsFile(name) {
		return fmt.Errorf("show --source %s: it is a file of your own; name one of 'bondrepro list'", name)
	}
	_, text, err := scenarios.Load(name)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func newValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check scenario files without running them",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("validate: name at least one scenario file")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			var errs []error
			for _, name := range args {
				if _, err := loadScenario(name, nil); err != nil {
					errs = append(errs, err)
					continue
				}
				fmt.Fprintf(c.OutOrStdout(), "%s: ok\n", name)
			}
			return errors.Join(errs...)
		},
	}
}

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of scenario files, for editors",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			text, err := scenarios.Schema()
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
}
