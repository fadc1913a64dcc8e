package bisect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bondrepro/internal/gitrepo"
	"bondrepro/reproducer/result"

	"github.com/google/renameio/v2"
)

// stepState is what the steps of one git bisect hand on to each other.
type stepState struct {
	// Bisect names the git bisect that this belongs to, Scenario what was measured in it.
	Bisect   string `json:"bisect"`
	Scenario string `json:"scenario"`
	// LineRate is that of the first boot, which all others share.
	LineRate []float64 `json:"line_rate,omitempty"`
	// Diagnosis is that of the first bad step, which stands for the bad end.
	Diagnosis string        `json:"diagnosis,omitempty"`
	Verdicts  []stepVerdict `json:"verdicts,omitempty"`

	file string // empty: no bisect is under way, and nothing is kept
}

// stepVerdict is what was found of an image and its modules.
type stepVerdict struct {
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"` // of the commit
	Outcome     string `json:"outcome"`
	Diagnosis   string `json:"diagnosis,omitempty"`
	Why         string `json:"why"`
	Boots       int    `json:"boots"`
}

// openStepState reads the state of the bisect that is under way. It is empty where none is, or where it is another's.
func openStepState(ctx context.Context, repo *gitrepo.Repo, o StepOptions) (*stepState, error) {
	s := &stepState{}
	if repo == nil {
		return s, nil
	}
	bisect, err := underWay(ctx, repo)
	if err != nil || bisect == "" {
		return s, err
	}
	scenario, err := json.Marshal(o.Run.Scenario)
	if err != nil {
		return s, err
	}
	s.Bisect, s.Scenario, s.file = bisect, string(scenario), filepath.Join(repo.GitDir, stepFolder, "bisect.json")
	data, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read the bisect's state: %w", err)
	}
	old := stepState{file: s.file}
	switch err := json.Unmarshal(data, &old); {
	case err != nil:
		return s, fmt.Errorf("%s is damaged: remove it (%w)", s.file, err)
	case old.Bisect != s.Bisect:
		return s, nil
	case old.Scenario != s.Scenario:
		o.Log("the scenario is another than that of this bisect's earlier steps: what they found is not used")
		return s, nil
	}
	return &old, nil
}

// underWay names the git bisect that is under way; empty where none is. BISECT_START is written once, when one is started,
// so its time tells a bisect from a later one of the same revisions.
func underWay(ctx context.Context, repo *gitrepo.Repo) (string, error) {
	name, err := repo.GitPath(ctx, "BISECT_START")
	if err != nil {
		return "", err
	}
	st, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for a git bisect: %w", err)
	}
	start, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("look for a git bisect: %w", err)
	}
	terms, err := repo.GitPath(ctx, "BISECT_TERMS")
	if err == nil {
		err = checkTerms(terms)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d", strings.TrimSpace(string(start)), st.ModTime().UnixNano()), nil
}

// checkTerms refuses a git bisect with words of its own: 1 is always taken for the word of the newer end, which is wrong where
// that end is the good one.
func checkTerms(file string) error {
	text, err := os.ReadFile(file)
	words := strings.Fields(string(text))
	if err != nil || len(words) != 2 || words[0] == "bad" && words[1] == "good" {
		return nil
	}
	return wrong("this git bisect calls its newer end %q and its older one %q, and would take exit code 1, a bad kernel, for %[1]q: begin it with the words bad and good, or find what ended a symptom by 'bondrepro bisect tree --find-fix'", words[0], words[1])
}

// save writes the state, whole or not at all.
func (s *stepState) save() error {
	if s.file == "" {
		return nil
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(s.file), 0o755), renameio.WriteFile(s.file, append(data, '\n'), 0o644))
	}
	if err != nil {
		return fmt.Errorf("keep the bisect's state: %w", err)
	}
	return nil
}

// rate notes the line rate of the first boot that has one.
func (s *stepState) rate(rate []float64) {
	if len(s.LineRate) == 0 {
		s.LineRate = rate
	}
}

// known is the verdict on what was booted before; nil: it was not.
func (s *stepState) known(fingerprint string) *stepVerdict {
	for i := range s.Verdicts {
		if s.Verdicts[i].Fingerprint == fingerprint {
			return &s.Verdicts[i]
		}
	}
	return nil
}

// learn notes a verdict. The first bad one's diagnosis is the bad end's.
func (s *stepState) learn(fingerprint string, step *result.BisectStep, outcome, diagnosis, why string) {
	s.Verdicts = append(s.Verdicts, stepVerdict{
		Fingerprint: fingerprint, Name: step.Name, Outcome: outcome, Diagnosis: diagnosis, Why: why, Boots: len(step.Trials),
	})
	if outcome == isBad && s.Diagnosis == "" {
		s.Diagnosis = diagnosis
	}
}

// same tells whether a diagnosis is the bad end's.
func (s *stepState) same(diagnosis string) bool { return diagnosis == s.Diagnosis }
