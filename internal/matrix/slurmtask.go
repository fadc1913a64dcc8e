package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// taskScript is what each task of the array runs. A node measures one cell at a time (--exclusive): guests on one machine
// take time from each other, and a line that is not full gives no verdict.
func taskScript(program, file, dir string, shards int) string {
	return fmt.Sprintf("#!/bin/sh\n#SBATCH --exclusive\n#SBATCH --nodes=1\nexec %s matrix %s -d %s --shard \"$SLURM_ARRAY_TASK_ID/%d\"\n",
		quoted(program), quoted(file), quoted(dir), shards)
}

// quoted is a word for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// tasks are the numbers of the shards that have a cell without a result.
func (e *Slurm) tasks(p Plan) (numbers []int) {
	for k := 1; k <= e.shards; k++ {
		if slices.ContainsFunc(Shard{k, e.shards}.Take(p.Cells), func(c Cell) bool { return e.missing[c.ID] }) {
			numbers = append(numbers, k)
		}
	}
	return numbers
}

// ranges writes numbers as sbatch --array takes them: "1-3,5".
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		k := i
		for k+1 < len(numbers) && numbers[k+1] == numbers[k]+1 {
			k++
		}
		part := strconv.Itoa(numbers[i])
		if k > i {
			part += "-" + strconv.Itoa(numbers[k])
		}
		parts = append(parts, part)
		i = k + 1
	}
	return strings.Join(parts, ",")
}
