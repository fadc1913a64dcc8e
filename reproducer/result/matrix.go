package result

// MatrixSchema is the version of the MatrixReport's JSON form; it grows when a field changes its meaning or goes.
const MatrixSchema = 1

// MatrixReport is what the cells of a matrix showed, joined from all parts.
type MatrixReport struct {
	Schema int    `json:"schema"`
	Tool   string `json:"tool"`
	Matrix string `json:"matrix"` // the matrix file's name
	Key    string `json:"key"`    // of the plan: the same for the same cells
	// Cells are all of the matrix (or of one part of it), by scenario, setting and kernel in the order of the file.
	Cells    []MatrixCell `json:"cells"`
	Warnings []Warning    `json:"warnings,omitempty"`
}

// MatrixCell is one kernel with one scenario and one setting.
type MatrixCell struct {
	ID       string `json:"id"`
	Kernel   string `json:"kernel"`
	Scenario string `json:"scenario"`
	Setting  string `json:"setting"`
	// Missing says, in a clause, why there is no result; empty when there is one. Verdict and all of the run are then empty.
	Missing string `json:"missing,omitempty"`
	// Files are where the result is. More than one: it was measured more than once, with different results; what follows is of
	// the first.
	Files     []string  `json:"files,omitempty"`
	Verdict   Verdict   `json:"verdict,omitempty"`
	Verdicts  []Verdict `json:"verdicts,omitempty"` // one a file, where there are several
	Cause     Cause     `json:"cause,omitempty"`
	Diagnosis string    `json:"diagnosis,omitempty"` // code of what decides, see Diagnoses
	Reason    string    `json:"reason,omitempty"`
	// Dropped is slaves.qdisc.dropped of the run that decides; nil where none was measured.
	Dropped *float64 `json:"dropped,omitempty"`
	Release string   `json:"release,omitempty"` // uname -r of the guest
	Host    string   `json:"host,omitempty"`
	Attempt int      `json:"attempt,omitempty"`
	TookS   float64  `json:"took_s,omitempty"`
}

// Double tells whether the cell has several, different results.
func (c MatrixCell) Double() bool { return len(c.Files) > 1 }

// Contradicts tells whether those have different verdicts.
func (c MatrixCell) Contradicts() bool {
	for _, v := range c.Verdicts {
		if v != c.Verdict {
			return true
		}
	}
	return false
}

// Complete tells whether every cell has one answer: a result, or several with the same verdict.
func (r MatrixReport) Complete() bool {
	for _, c := range r.Cells {
		if c.Missing != "" || c.Contradicts() {
			return false
		}
	}
	return true
}
