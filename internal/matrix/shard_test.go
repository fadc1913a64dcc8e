package matrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func cells(n int) (all []Cell) {
	for i := range n {
		all = append(all, Cell{ID: fmt.Sprintf("cell-%02d", (i*7)%n)})
	}
	return all
}

// Every cell is of exactly one shard, whatever the order they come in; and shards differ by one cell at most.
func TestShardsAreAPartition(t *testing.T) {
	for _, n := range []int{1, 2, 3, 6, 13, 20} {
		all := cells(13)
		var seen []string
		for k := 1; k <= n; k++ {
			part := Shard{k, n}.Take(all)
			if len(part) < 13/n || len(part) > 13/n+1 {
				t.Errorf("shard %d/%d has %d of 13 cells", k, n, len(part))
			}
			reversed := slices.Clone(all)
			slices.Reverse(reversed)
			if again := (Shard{k, n}).Take(reversed); !slices.Equal(ids(part), ids(again)) {
				t.Errorf("shard %d/%d rests on the order: %v, %v", k, n, ids(part), ids(again))
			}
			seen = append(seen, ids(part)...)
		}
		slices.Sort(seen)
		if want := ids(Shard{}.Take(all)); !slices.Equal(seen, want) {
			t.Errorf("%d shards have %v, want %v", n, seen, want)
		}
	}
}

func TestParseShard(t *testing.T) {
	if s, err := ParseShard("2/6"); err != nil || s != (Shard{2, 6}) || s.String() != "2/6" {
		t.Errorf("2/6 is %v, %v", s, err)
	}
	for _, bad := range []string{"", "2", "0/6", "7/6", "a/b", "2/", "-1/3", "1/0", "1/2/3"} {
		if s, err := ParseShard(bad); err == nil {
			t.Errorf("%q is %v", bad, s)
		}
	}
}

func TestShardFromEnvironment(t *testing.T) {
	slurm := func(id, least, greatest, step, count string) string {
		return "SLURM_ARRAY_TASK_ID=" + id + " SLURM_ARRAY_TASK_MIN=" + least + " SLURM_ARRAY_TASK_MAX=" + greatest +
			" SLURM_ARRAY_TASK_STEP=" + step + " SLURM_ARRAY_TASK_COUNT=" + count
	}
	for _, c := range []struct {
		env, from string
		want      Shard
		err       string
	}{
		{env: ""},
		{env: "SLURM_JOB_ID=12 CI_NODE_TOTAL=1 HOME=/root"},
		{env: slurm("1", "1", "6", "1", "6"), from: "Slurm", want: Shard{1, 6}},
		{env: slurm("5", "0", "5", "1", "6"), from: "Slurm", want: Shard{6, 6}},
		{env: slurm("14", "10", "16", "2", "4"), from: "Slurm", want: Shard{3, 4}},
		{env: slurm("3", "3", "3", "1", "1"), from: "Slurm", want: Shard{1, 1}},
		{env: "SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=3 SLURM_ARRAY_TASK_COUNT=3", from: "Slurm", want: Shard{2, 3}},
		{env: slurm("3", "1", "7", "1", "3"), err: "no range"},
		{env: slurm("3", "1", "7", "0", "3"), err: "no range"},
		{env: slurm("11", "10", "16", "2", "4"), err: "no range"},
		{env: slurm("9", "1", "6", "1", "6"), err: "part 9 of 6"},
		{env: "SLURM_ARRAY_TASK_ID=2", err: "SLURM_ARRAY_TASK_MIN is not set"},
		{env: "SLURM_ARRAY_TASK_ID=x", err: `SLURM_ARRAY_TASK_ID is "x", not a number`},
		{env: "CI_NODE_INDEX=2 CI_NODE_TOTAL=3", from: "GitLab", want: Shard{2, 3}},
		{env: "CI_NODE_INDEX=4 CI_NODE_TOTAL=3", err: "part 4 of 3"},
		{env: "CI_NODE_INDEX=4", err: "CI_NODE_TOTAL is not set"},
		{env: "JOB_COMPLETION_INDEX=0 JOB_COMPLETIONS=3", from: "Kubernetes", want: Shard{1, 3}},
		{env: "JOB_COMPLETION_INDEX=2 JOB_COMPLETIONS=3", from: "Kubernetes", want: Shard{3, 3}},
		{env: "JOB_COMPLETION_INDEX=3 JOB_COMPLETIONS=3", err: "part 4 of 3"},
		{env: "JOB_COMPLETION_INDEX=0", err: "which Kubernetes does not set"},
		{env: "JOB_COMPLETION_INDEX=0 JOB_COMPLETIONS=3 CI_NODE_INDEX=1 CI_NODE_TOTAL=2", err: "CI_NODE_INDEX of GitLab and JOB_COMPLETION_INDEX of Kubernetes are both set"},
		{env: "CI_NODE_INDEX=1 CI_NODE_TOTAL=2 " + slurm("1", "1", "6", "1", "6"), err: "are both set"},
	} {
		lookup := func(name string) (string, bool) {
			for _, pair := range strings.Fields(c.env) {
				if key, value, _ := strings.Cut(pair, "="); key == name {
					return value, true
				}
			}
			return "", false
		}
		got, from, err := ShardOf("", lookup)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v, want %q", c.env, err, c.err)
			}
			if s, from, err := ShardOf("1/9", lookup); err != nil || s != (Shard{1, 9}) || from != "" {
				t.Errorf("%s: what is said does not win: %v, %q, %v", c.env, s, from, err)
			}
		case err != nil || got != c.want || from != c.from:
			t.Errorf("%s: %v of %q, %v; want %v of %q", c.env, got, from, err, c.want, c.from)
		}
	}
}
