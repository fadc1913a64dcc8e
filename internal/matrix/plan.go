// Package matrix measures every cell of kernels × scenarios × settings, in one go or in parts on many machines, and joins the
// parts.
//
//   - Read makes a Plan of a matrix file: all its cells, checked before anything boots.
//   - Shard is one part of a plan; Slurm, Kubernetes and GitLab tell which one through their environment.
//   - Store is the folder of results: one file a cell, whole or not there. What it holds is not measured again.
//   - Run measures cells; Slurm has a cluster do it; Merge joins folders and tells what is missing or double.
package matrix

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bondrepro/scenarios"
)

// PlanSchema is the version of a plan's JSON form; it grows when a field changes its meaning or goes.
const PlanSchema = 1

// Plan is every cell of a matrix, by scenario, setting and kernel in the order of the file.
type Plan struct {
	Schema int    `json:"schema"`
	File   string `json:"file"` // the matrix file's name, without its folder
	// Key is a hash of all cells: folders of equal plans can be merged.
	Key   string `json:"key"`
	Cells []Cell `json:"cells"`
}

const (
	debPrefix  = "deb:"
	hostKernel = "host" // the running one's files
)

// Read makes the plan of a matrix file and checks all of it: names, fields, every cell's scenario, and that files are there.
// Relative paths are relative to the matrix file. Errors are one sentence, with line and column where they are about one.
func Read(name string) (Plan, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return Plan{}, fmt.Errorf("matrix file: %w", err)
	}
	f, err := readFile(name, src)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Schema: PlanSchema, File: filepath.Base(name)}
	seen := map[string]bool{}
	for _, entry := range f.scenarios {
		sc, err := f.load(entry)
		if err != nil {
			return Plan{}, err
		}
		title := slug(sc.Name)
		if err := f.checkName(entry.node, "scenarios", title); err != nil {
			return Plan{}, err
		}
		if seen[title] {
			return Plan{}, f.errorf(entry.node, "scenarios", "two scenarios are called %s; change the name in one of them", title)
		}
		seen[title] = true
		for _, setting := range f.settings {
			for _, k := range f.kernels {
				c, err := f.cell(k, sc, setting)
				if err != nil {
					return Plan{}, err
				}
				c.Scenario = title
				c.ID = strings.Join([]string{c.Kernel, c.Scenario, c.Setting}, ",")
				p.Cells = append(p.Cells, c)
			}
		}
	}
	p.Key = hash(p.Cells)
	return p, nil
}

// load reads a scenario, by name or from a file.
func (f *file) load(entry scenarioEntry) (scenarios.Scenario, error) {
	if !scenarios.IsFile(entry.arg) {
		sc, _, err := scenarios.Load(entry.arg)
		return sc, f.wrap(entry, err)
	}
	path := f.path(entry.arg)
	src, err := os.ReadFile(path)
	if err != nil {
		return scenarios.Scenario{}, f.wrap(entry, err)
	}
	return scenarios.Parse(path, src)
}

// wrap says where the scenario of an error is named.
func (f *file) wrap(entry scenarioEntry, err error) error {
	if err == nil {
		return nil
	}
	return f.errorf(entry.node, "scenarios", "%v", err)
}

// path is a path of the file, from where we are.
func (f *file) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(f.file), p)
}

// hash is that of the JSON form of v, in hex.
func hash(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and maps of strings always have one
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
