package matrix

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bondrepro/reproducer/result"

	"github.com/google/renameio/v2"
)

// Store is a folder of results:
//
//	plan.json            the matrix
//	cells/ID.json        a cell's Result, as `run -o` writes it
//	cells/ID.meta.json   a cell's Record
//
// Every file is written whole or not at all, so several processes may share a folder, and any may be killed.
type Store struct{ dir string }

// Record is how a cell is getting on.
type Record struct {
	Key   string `json:"key"` // of the cell as it was measured
	State State  `json:"state"`
	// Why is the sentence of a failed cell: what of this machine kept it from being measured.
	Why string `json:"why,omitempty"`
	// Sum is the hash of the Result's file; a file with another one is not this record's.
	Sum string `json:"sum,omitempty"`
	// Fingerprint is a hash of the kernel's and the modules' files, where those are the user's own.
	Fingerprint string    `json:"fingerprint,omitempty"`
	Host        string    `json:"host"`
	Shard       string    `json:"shard,omitempty"`
	Attempt     int       `json:"attempt"` // from 1
	Began       time.Time `json:"began"`
	TookS       float64   `json:"took_s,omitempty"`
}

// State is how far a cell is.
type State string

// The states. A cell that was begun and did not end was killed, or is under way.
const (
	Begun    State = "begun"
	Measured State = "measured"
	Failed   State = "failed"
)

// NewStore gives the store in dir. Nothing is made before there is something to write.
func NewStore(dir string) *Store { return &Store{dir: dir} }

func (s *Store) planFile() string { return filepath.Join(s.dir, "plan.json") }

// ResultFile is the path of a cell's Result.
func (s *Store) ResultFile(id string) string { return filepath.Join(s.dir, "cells", id+".json") }

func (s *Store) recordFile(id string) string { return filepath.Join(s.dir, "cells", id+".meta.json") }

// SetPlan makes the folder where it is not there, and writes the plan, in place of an earlier one. It comes before all else that is
// written.
func (s *Store) SetPlan(p Plan) error {
	if err := os.MkdirAll(filepath.Join(s.dir, "cells"), 0o755); err != nil {
		return fmt.Errorf("folder of results: %w", err)
	}
	return writeJSON(s.planFile(), p)
}

// discard takes away what SetPlan made, and these folders: whatever has nothing else in it.
func (s *Store) discard(folders ...string) {
	_ = os.Remove(s.planFile())
	for _, folder := range append(folders, filepath.Join(s.dir, "cells"), s.dir) {
		_ = os.Remove(folder) // it stays where there is something in it
	}
}

// Plan reads the plan.
func (s *Store) Plan() (p Plan, err error) {
	found, err := readJSON(s.planFile(), &p)
	switch {
	case err != nil:
		return p, err
	case !found:
		return p, fmt.Errorf("%s: there is no plan.json in it; name a folder that bondrepro matrix -d wrote", s.dir)
	case p.Schema != PlanSchema:
		return p, fmt.Errorf("%s: its schema is version %d and this program reads version %d: use the bondrepro that wrote it", s.planFile(), p.Schema, PlanSchema)
	}
	return p, nil
}

// Record reads a cell's record; found is false where there is none.
func (s *Store) Record(id string) (r Record, found bool, err error) {
	found, err = readJSON(s.recordFile(id), &r)
	return r, found, err
}

// SetRecord writes a cell's record.
func (s *Store) SetRecord(id string, r Record) error { return writeJSON(s.recordFile(id), r) }

// Forget takes a cell's record and result away.
func (s *Store) Forget(id string) error {
	for _, file := range []string{s.recordFile(id), s.ResultFile(id)} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// SetResult writes a cell's Result, then its record as measured.
func (s *Store) SetResult(id string, r result.Result, rec Record) error {
	var b bytes.Buffer
	if err := result.Encode(&b, r); err != nil {
		return fmt.Errorf("result of %s: %w", id, err)
	}
	if err := renameio.WriteFile(s.ResultFile(id), b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("result of %s: %w", id, err)
	}
	rec.State, rec.Sum = Measured, sum(b.Bytes())
	return s.SetRecord(id, rec)
}

// Result reads the Result of a cell that is measured by its record. ok is false where its file is not the record's: both are
// then worth nothing.
func (s *Store) Result(id string, rec Record) (r result.Result, ok bool, err error) {
	data, err := os.ReadFile(s.ResultFile(id))
	if errors.Is(err, fs.ErrNotExist) || err == nil && sum(data) != rec.Sum {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	r, err = result.Decode(s.ResultFile(id), data)
	return r, err == nil, err
}

// Done tells whether a cell has a result of its present definition.
func (s *Store) Done(c Cell) (bool, error) {
	rec, found, err := s.Record(c.ID)
	if err != nil || !found || rec.State != Measured || rec.Key != c.Key {
		return false, err
	}
	data, err := os.ReadFile(s.ResultFile(c.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return sum(data) == rec.Sum, err
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

func writeJSON(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return renameio.WriteFile(file, append(text, '\n'), 0o644)
}

// readJSON reads what writeJSON wrote; found is false where there is no file.
func readJSON(file string, v any) (found bool, err error) {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return false, fmt.Errorf("%s: not a file of bondrepro matrix: %w", file, err)
	}
	return true, nil
}
