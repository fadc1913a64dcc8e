package matrix

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"bondrepro/reproducer/result"
)

// Merge joins folders of results, all of one plan: what each cell showed, which are missing and why, which were measured twice
// with different results. Only gives the cells of one shard. version is the tool's.
func Merge(dirs []string, only Shard, version string) (result.MatrixReport, error) {
	parts := make([]*Store, len(dirs))
	var plan Plan
	for i, dir := range dirs {
		parts[i] = &Store{dir: dir}
		p, err := parts[i].Plan()
		if err != nil {
			return result.MatrixReport{}, err
		}
		if i == 0 {
			plan = p
		} else if p.Key != plan.Key {
			return result.MatrixReport{}, fmt.Errorf("%s and %s are not parts of one matrix: their plan.json differ; run the parts with the same matrix file and the same scenarios", dirs[0], dir)
		}
	}
	report := result.MatrixReport{Schema: result.MatrixSchema, Tool: version, Matrix: plan.File, Key: plan.Key}
	mine := only.Take(plan.Cells)
	var guests []guest
	for _, c := range plan.Cells {
		if !slices.ContainsFunc(mine, func(m Cell) bool { return m.ID == c.ID }) {
			continue
		}
		joined, g, err := joinCell(parts, c)
		if err != nil {
			return result.MatrixReport{}, err
		}
		report.Cells = append(report.Cells, joined)
		guests = append(guests, g...)
	}
	report.Warnings = differing(guests)
	return report, nil
}

// guest is what a cell's guest proved to be.
type guest struct {
	cell Cell
	of   result.Guest
}

// joinCell joins one cell of all parts.
func joinCell(parts []*Store, c Cell) (result.MatrixCell, []guest, error) {
	cell := result.MatrixCell{ID: c.ID, Kernel: c.Kernel, Scenario: c.Scenario, Setting: c.Setting}
	var why []string
	var sums []string
	var guests []guest
	for _, s := range parts {
		rec, found, err := s.Record(c.ID)
		if err != nil {
			return cell, nil, err
		}
		if !found {
			continue
		}
		r, ok, err := s.measured(c, rec)
		if err != nil {
			return cell, nil, err
		}
		if !ok {
			why = append(why, absence(c, rec))
			continue
		}
		if slices.Contains(sums, rec.Sum) {
			continue // the same file once more
		}
		sums = append(sums, rec.Sum)
		cell.Files = append(cell.Files, s.ResultFile(c.ID))
		cell.Verdicts = append(cell.Verdicts, r.Judgement.Verdict)
		if r.Guest != nil {
			guests = append(guests, guest{c, *r.Guest})
		}
		if len(cell.Files) == 1 {
			fill(&cell, r, rec)
		}
	}
	switch {
	case len(cell.Files) == 1:
		cell.Verdicts = nil
	case len(cell.Files) == 0 && len(why) == 0:
		cell.Missing = "it was not begun"
	case len(cell.Files) == 0:
		cell.Missing = strings.Join(why, "; ")
	}
	return cell, guests, nil
}

// measured is the result of a record that is of this definition of the cell.
func (s *Store) measured(c Cell, rec Record) (result.Result, bool, error) {
	if rec.State != Measured || rec.Key != c.Key {
		return result.Result{}, false, nil
	}
	return s.Result(c.ID, rec)
}

// absence says why a record has no result of the cell.
func absence(c Cell, rec Record) string {
	switch {
	case rec.Key != c.Key:
		return "what is there is of another definition of the cell"
	case rec.State == Failed:
		return fmt.Sprintf("on %s: %s", rec.Host, rec.Why)
	case rec.State == Begun:
		return fmt.Sprintf("it was begun on %s at %s (attempt %d) and did not end", rec.Host, rec.Began.Format("2006-01-02 15:04:05 UTC"), rec.Attempt)
	}
	return "its file is not the one that was written"
}

// fill takes what a table shows out of a result.
func fill(cell *result.MatrixCell, r result.Result, rec Record) {
	j := r.Judgement
	cell.Verdict, cell.Cause, cell.Reason = j.Verdict, j.Cause, j.Reason
	if len(j.Diagnosis) > 0 {
		cell.Diagnosis = j.Diagnosis[0].Code
	}
	if dropped, ok := deciding(r).Metrics["slaves.qdisc.dropped"]; ok {
		cell.Dropped = &dropped
	}
	if r.Guest != nil {
		cell.Release = r.Guest.Kernel
	}
	cell.Host, cell.Attempt, cell.TookS = rec.Host, rec.Attempt, rec.TookS
}

// deciding is the judgement of the test arm's run that stands for the whole: the last with the verdict of the whole, else the last one
// with figures.
func deciding(r result.Result) (best result.RunJudgement) {
	for _, a := range r.Arms {
		if a.Name != result.ArmTest {
			continue
		}
		for _, run := range a.Runs {
			if len(run.Judgement.Metrics) > 0 && (run.Judgement.Verdict == r.Judgement.Verdict || best.Verdict != r.Judgement.Verdict) {
				best = run.Judgement
			}
		}
	}
	return best
}

// differing warns of kernels and modules that have one name in the matrix and were not the same everywhere: a package that
// is another version elsewhere, a tree that was built anew.
func differing(guests []guest) (all []result.Warning) {
	type seen struct {
		ids   []string
		names []string
	}
	found := map[string]*seen{}
	var order []string
	note := func(key, id, name string) {
		if id == "" {
			return
		}
		if found[key] == nil {
			found[key] = &seen{}
			order = append(order, key)
		}
		if s := found[key]; !slices.Contains(s.ids, id) {
			s.ids = append(s.ids, id)
			s.names = append(s.names, name)
		}
	}
	for _, g := range guests {
		note("kernel "+g.cell.Kernel, g.of.BuildID, g.of.Kernel+", build id "+g.of.BuildID)
		for _, m := range g.of.Modules {
			note("module "+m.Name+" of kernel "+g.cell.Kernel+" with setting "+g.cell.Setting, m.BuildID, filepath.Base(m.File)+", build id "+m.BuildID)
		}
	}
	for _, key := range order {
		if s := found[key]; len(s.ids) > 1 {
			all = append(all, result.Warning{Code: "not-one-build", Text: fmt.Sprintf("%s was not the same in all cells: %s. Compare only cells of one build.", key, strings.Join(s.names, "; "))})
		}
	}
	return all
}
