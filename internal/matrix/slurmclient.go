package matrix

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bondrepro/internal/osrun"
)

const (
	// callTimeout bounds one call of a Slurm command. They try again by themselves for some 20 s when slurmctld is silent.
	callTimeout = time.Minute
	// silence is how long slurmctld may give no answer while an array is followed: it may be started anew meanwhile.
	silence = 5 * time.Minute
	// endTimeout bounds the wait for cancelled tasks to be gone.
	endTimeout = 30 * time.Second
)

// slurmClient calls Slurm's commands. It needs neither accounting nor a database.
type slurmClient struct{}

// look makes sure that the commands are there.
func (slurmClient) look() error {
	for _, name := range []string{"sbatch", "squeue", "scancel"} {
		if _, err := osrun.Look(name); err != nil {
			return fmt.Errorf("--engine slurm: there is no %s in $PATH: install Slurm's commands (Debian: slurm-client), or use --shard and 'bondrepro merge'", name)
		}
	}
	return nil
}

// call runs one command, which may read stdin. An error is one sentence with the last that the command said.
func (slurmClient) call(ctx context.Context, stdin, name string, args ...string) (string, error) {
	out, err := osrun.Run(ctx, osrun.Cmd{Path: name, Args: args, Stdin: strings.NewReader(stdin), Timeout: callTimeout})
	if err == nil {
		return strings.TrimSpace(string(out.Stdout)), nil
	}
	said := strings.TrimSpace(string(out.Stderr))
	if i := strings.LastIndex(said, "\n"); i >= 0 {
		said = said[i+1:]
	}
	if said == "" {
		return "", err
	}
	return "", &slurmError{command: name, said: said, err: err}
}

// slurmError is a command of Slurm's that failed.
type slurmError struct {
	command, said string
	err           error
}

func (e *slurmError) Error() string {
	return e.command + ": " + strings.TrimPrefix(e.said, e.command+": ")
}

func (e *slurmError) Unwrap() error { return e.err }

// named gives the ids of our arrays of that name that have not ended.
func (c slurmClient) named(ctx context.Context, name string) ([]string, error) {
	out, err := c.call(ctx, "", "squeue", "--noheader", "--me", "--name", name, "--format", "%F")
	if err != nil {
		return nil, fmt.Errorf("--engine slurm: %w", err)
	}
	return slices.Compact(strings.Fields(out)), nil
}

// submission is an array to submit.
type submission struct {
	name, partition string // no partition: Slurm's default
	array           string // as --array takes it
	logs            string // folder
	script          string
}

// submit submits the array and gives its id. It is not interrupted by ctx, so that no array is left whose id nobody knows.
func (c slurmClient) submit(ctx context.Context, s submission) (string, error) {
	args := []string{"--parsable", "--requeue", "--open-mode=append", "--job-name", s.name, "--array", s.array,
		"--output", strings.ReplaceAll(s.logs, "%", "%%") + "/%A_%a.log"}
	if s.partition != "" {
		args = append(args, "--partition", s.partition)
	}
	out, err := c.call(context.WithoutCancel(ctx), s.script, "sbatch", args...)
	switch {
	case err != nil && strings.Contains(err.Error(), "Invalid job array"):
		return "", fmt.Errorf("--engine slurm: %w (%s): give fewer tasks with --shards (scontrol show config: MaxArraySize)", err, s.array)
	case err != nil && s.partition != "":
		return "", fmt.Errorf("--engine slurm, --partition %s: %w", s.partition, err)
	case err != nil:
		return "", fmt.Errorf("--engine slurm: %w", err)
	}
	id, _, _ := strings.Cut(out, ";") // the cluster's name may follow
	if id == "" {
		return "", errors.New("--engine slurm: sbatch printed no job id")
	}
	return id, nil
}

// task is one task of an array that has not ended.
type task struct{ number, state, node, reason string }

// tasks are those of a job that have not ended. Slurm forgets jobs some minutes after their end: none.
func (c slurmClient) tasks(ctx context.Context, job string) ([]task, error) {
	out, err := c.call(ctx, "", "squeue", "--noheader", "--array", "--jobs", job, "--format", "%K|%T|%N|%r")
	if err != nil {
		if strings.Contains(err.Error(), "Invalid job id") {
			return nil, nil
		}
		return nil, err
	}
	return parseTasks(out), nil
}

func parseTasks(out string) (tasks []task) {
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSpace(line), "|", 4)
		if len(f) == 4 {
			tasks = append(tasks, task{f[0], f[1], f[2], f[3]})
		}
	}
	return tasks
}

// heldReason is why a task that could not be launched waits for an administrator, for ever (squeue(1), job reason codes).
const heldReason = "launch failed requeued held"

// held tells whether all that is left is tasks that will never start.
func held(tasks []task) bool {
	return !slices.ContainsFunc(tasks, func(t task) bool { return t.state != "PENDING" || t.reason != heldReason })
}

// summary is how the tasks are getting on: "2 running (node1, node2), 3 pending (Resources)".
func summary(tasks []task) string {
	count := map[string]int{}
	details := map[string][]string{}
	for _, t := range tasks {
		count[t.state]++
		detail := t.node
		if detail == "" {
			detail = t.reason
		}
		if detail != "" && !slices.Contains(details[t.state], detail) {
			details[t.state] = append(details[t.state], detail)
		}
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(count)) {
		text := fmt.Sprintf("%d %s", count[state], strings.ToLower(state))
		if d := details[state]; len(d) > 0 {
			slices.Sort(d)
			text += " (" + strings.Join(d, ", ") + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// cancel ends the job and waits until its tasks are gone, though ctx may have ended.
func (c slurmClient) cancel(ctx context.Context, job string, poll time.Duration) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), callTimeout+endTimeout)
	defer stop()
	if _, err := c.call(ctx, "", "scancel", job); err != nil {
		return fmt.Errorf("job %s of Slurm could not be cancelled: %w; do it with scancel %s", job, err, job)
	}
	for end := time.Now().Add(endTimeout); ; {
		tasks, err := c.tasks(ctx, job)
		switch {
		case err == nil && len(tasks) == 0:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("job %s of Slurm was cancelled and has not ended after %v", job, endTimeout)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("job %s of Slurm was cancelled and has not ended", job)
		case <-time.After(poll):
		}
	}
}
