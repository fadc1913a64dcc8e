package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shard is part K of N parts of a plan, K from 1 to N. The zero Shard is the whole.
type Shard struct{ K, N int }

// String is "K/N", or "" for the whole.
func (s Shard) String() string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.K, s.N)
}

// ParseShard reads "K/N".
func ParseShard(text string) (Shard, error) {
	k, n, ok := strings.Cut(text, "/")
	var s Shard
	var errK, errN error
	s.K, errK = strconv.Atoi(k)
	s.N, errN = strconv.Atoi(n)
	if !ok || errK != nil || errN != nil || s.K < 1 || s.K > s.N {
		return Shard{}, fmt.Errorf("--shard %s: it must be K/N with K from 1 to N, as in 2/6", text)
	}
	return s, nil
}

// Take gives the shard's cells, by id: cell i of all cells in order of their ids is of shard i mod N. It rests on nothing but
// the plan.
func (s Shard) Take(cells []Cell) []Cell {
	sorted := slices.SortedFunc(slices.Values(cells), func(a, b Cell) int { return strings.Compare(a.ID, b.ID) })
	if s.N == 0 {
		return sorted
	}
	var taken []Cell
	for i := s.K - 1; i < len(sorted); i += s.N {
		taken = append(taken, sorted[i])
	}
	return taken
}

// engine is one that starts a command many times and tells each through the environment which one it is.
type engine struct {
	name string
	mark string // the variable that is set in its parts and nowhere else
	read func(getenv) (Shard, error)
}

// getenv looks up a variable, as os.LookupEnv does.
type getenv func(name string) (value string, ok bool)

// engines in order of their names.
var engines = []engine{
	{"GitLab", "CI_NODE_INDEX", fromGitLab},
	{"Kubernetes", "JOB_COMPLETION_INDEX", fromKubernetes},
	{"Slurm", "SLURM_ARRAY_TASK_ID", fromSlurm},
}

// ShardFromEnvironment is the shard that an engine tells of, and the engine's name; the whole and "" where none does. Two
// engines at once are refused: an array that a part of a CI job submits inherits that part's variables.
func ShardFromEnvironment(lookup getenv) (s Shard, name string, err error) {
	var found []engine
	for _, e := range engines {
		if _, ok := lookup(e.mark); ok {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return Shard{}, "", nil
	case 1:
		s, err = found[0].read(lookup)
		return s, found[0].name, err
	}
	return Shard{}, "", fmt.Errorf("%s of %s and %s of %s are both set: say with --shard K/N which part this is",
		found[0].mark, found[0].name, found[1].mark, found[1].name)
}

// fromGitLab: `parallel: N` numbers its jobs from 1 (docs.gitlab.com/ci/variables/predefined_variables).
func fromGitLab(lookup getenv) (Shard, error) {
	k, errK := lookup.number("CI_NODE_INDEX", "of GitLab's parallel")
	n, errN := lookup.number("CI_NODE_TOTAL", "of GitLab's parallel")
	return checked(Shard{k, n}, "CI_NODE_INDEX and CI_NODE_TOTAL", errK, errN)
}

// fromKubernetes: an indexed Job numbers its pods from 0 and does not tell them how many there are
// (kubernetes.io/docs/concepts/workloads/controllers/job, completion mode).
func fromKubernetes(lookup getenv) (Shard, error) {
	k, errK := lookup.number("JOB_COMPLETION_INDEX", "of an indexed Job")
	n, errN := lookup.number("JOB_COMPLETIONS", "which Kubernetes does not set: give the container env JOB_COMPLETIONS with the Job's completions")
	return checked(Shard{k + 1, n}, "JOB_COMPLETION_INDEX and JOB_COMPLETIONS", errK, errN)
}

// fromSlurm: an array may begin anywhere and have steps (sbatch(1), --array). A list of single numbers gives no part's number.
func fromSlurm(lookup getenv) (Shard, error) {
	id, err1 := lookup.number("SLURM_ARRAY_TASK_ID", "of an array")
	first, err2 := lookup.number("SLURM_ARRAY_TASK_MIN", "of an array")
	last, err3 := lookup.number("SLURM_ARRAY_TASK_MAX", "of an array")
	count, err4 := lookup.number("SLURM_ARRAY_TASK_COUNT", "of an array")
	step, err5 := 1, error(nil)
	if _, ok := lookup("SLURM_ARRAY_TASK_STEP"); ok {
		step, err5 = lookup.number("SLURM_ARRAY_TASK_STEP", "of an array")
	}
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return Shard{}, firstOf(err1, err2, err3, err4, err5)
	}
	if step < 1 || (last-first)%step != 0 || (last-first)/step+1 != count || (id-first)%step != 0 {
		return Shard{}, fmt.Errorf("the array of Slurm has %d tasks from %d to %d, which is no range: submit one such as --array=1-6, or say with --shard K/N which part this is",
			count, first, last)
	}
	return checked(Shard{(id-first)/step + 1, count}, "SLURM_ARRAY_TASK_*")
}

// checked is the shard, unless there was an error or it is impossible.
func checked(s Shard, names string, errs ...error) (Shard, error) {
	if err := firstOf(errs...); err != nil {
		return Shard{}, err
	}
	if s.K < 1 || s.K > s.N {
		return Shard{}, fmt.Errorf("%s say part %d of %d, which is none: say with --shard K/N which part this is", names, s.K, s.N)
	}
	return s, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// number is a variable that holds one.
func (lookup getenv) number(name, hint string) (int, error) {
	text, ok := lookup(name)
	if !ok {
		return 0, fmt.Errorf("%s is not set, %s", name, hint)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s is %q, not a number: say with --shard K/N which part this is", name, text)
	}
	return n, nil
}

// ShardOf is the shard that the user names, else that of the environment: what is said wins over what is found. from is the
// engine that tells of it, "" where the user does, or nobody.
func ShardOf(named string, lookup func(string) (string, bool)) (s Shard, from string, err error) {
	if named != "" {
		s, err = ParseShard(named)
		return s, "", err
	}
	return ShardFromEnvironment(lookup)
}
