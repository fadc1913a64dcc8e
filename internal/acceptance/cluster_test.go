package acceptance

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/osrun"
	"bondrepro/reproducer/result"
)

// clusterPatience is far longer than a matrix takes on the cluster, a dead node included.
const clusterPatience = 20 * time.Minute

// cluster is a Slurm of two nodes on this machine.
type cluster struct {
	t      *testing.T
	folder string // tools/slurm-cluster says what is in it
}

// newCluster starts one, for as long as the test runs.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("BONDREPRO_CLUSTER") != "1" {
		t.Skip("needs Slurm and boots kernels for minutes; make test-cluster sets BONDREPRO_CLUSTER=1 and what else it needs")
	}
	c := &cluster{t: t, folder: shortTemp(t)}
	p, err := osrun.Start(context.Background(), osrun.Cmd{Path: "../../tools/slurm-cluster", Args: []string{c.folder}, Timeout: 2 * clusterPatience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		<-p.Done()
		if !eventually(func() bool { return len(marked(c.folder)) == 0 }) {
			t.Errorf("processes of the cluster are left: %v", marked(c.folder))
		}
	})
	if !eventually(func() bool { _, err := os.Stat(filepath.Join(c.folder, "ready")); return err == nil || ended(p) }) || ended(p) {
		t.Fatalf("the cluster did not come up:\n%s", p.Tail())
	}
	return c
}

// await polls until ok holds, for as long as a matrix may take.
func await(ok func() bool) bool {
	for end := time.Now().Add(clusterPatience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}

func ended(p *osrun.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// matrix starts `bondrepro matrix --engine slurm` on the matrix file of a folder.
func (c *cluster) matrix(dir string, args ...string) *invocation {
	c.t.Helper()
	args = append([]string{"matrix", filepath.Join(dir, "matrix.yaml"), "-d", filepath.Join(dir, "results"), "--engine", "slurm", "--json"}, args...)
	in := &invocation{tmp: c.folder, started: time.Now()}
	p, err := osrun.Start(context.Background(), osrun.Cmd{
		Path: binary, Args: args, Env: append(os.Environ(), "SLURM_CONF="+c.folder+"/slurm.conf"),
		Stdout: &in.stdout, Stderr: &in.stderr, Timeout: clusterPatience,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	in.process = p
	return in
}

// squeue is what Slurm still has to do.
func (c *cluster) squeue() string {
	c.t.Helper()
	out, err := osrun.Run(context.Background(), osrun.Cmd{
		Path: "squeue", Args: []string{"--noheader"}, Env: append(os.Environ(), "SLURM_CONF="+c.folder+"/slurm.conf"), Timeout: time.Minute,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return string(out.Stdout)
}

// kill ends a node as a power cut would: all that runs on it is gone at once.
func (c *cluster) kill(node string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.folder, node+".pid"))
	if err != nil {
		c.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
}

// sixCells are short ones: a slow line is filled in no time, also when two guests share the machine. Those that are orphaned must
// be BAD, the others GOOD.
const sixCells = `
kernels: [{name: stock, kernel: KERNEL}]
scenarios: [bond-multicast-tx, bond-multicast-tx-8]
settings:
  throttled: {}
  small: {traffic.payload: 1400}
  orphaned: {orphan: netem}
set: {traffic.duration: 1s, traffic.warmup: 200ms, topology.slaves.line_rate: 30mbit, runs.max: 4, control: {}}

`

// matrixFolder has a matrix file.
func matrixFolder(t *testing.T) string {
	t.Helper()
	dir := shortTemp(t)
	text := strings.Replace(sixCells, "KERNEL", kernelDeb, 1)
	if err := os.WriteFile(filepath.Join(dir, "matrix.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// cellRecord is what a cell's ID.meta.json has.
type cellRecord struct {
	State   string `json:"state"`
	Host    string `json:"host"`
	Attempt int    `json:"attempt"`
}

// records are those of a folder of results, by cell.
func records(t *testing.T, dir string) map[string]cellRecord {
	t.Helper()
	const suffix = ".meta.json"
	files, err := filepath.Glob(filepath.Join(dir, "results/cells/*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]cellRecord{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r cellRecord
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), suffix)] = r
	}
	return all
}

// find gives a cell in that state on that node; "" is any node.
func find(all map[string]cellRecord, state, node string) (id string, ok bool) {
	for id, r := range all {
		if r.State == state && (node == "" || r.Host == node) {
			return id, true
		}
	}
	return "", false
}

// booted is in the log of a task whose guest has come up.
const booted = "test arm: run "

// TestClusterLosesNoResult: a node dies in the middle of a cell. What was measured stays, its cell is run again, and all six cells have
// their verdict.
func TestClusterLosesNoResult(t *testing.T) {
	c, dir := newCluster(t), matrixFolder(t)
	in := c.matrix(dir)
	var victim string
	if !await(func() bool {
		all := records(t, dir)
		if _, measured := find(all, "measured", ""); !measured {
			return ended(in.process)
		}
		var ok bool
		victim, ok = find(all, "begun", "node2")
		return ok && measuring(t, dir, victim) || ended(in.process)
	}) || victim == "" {
		t.Fatalf("no cell runs on node2 while another is measured: %v\n%s", records(t, dir), in.process.Tail())
	}
	before := map[string]string{}
	for id, r := range records(t, dir) {
		if r.State == "measured" {
			before[id] = readFile(t, filepath.Join(dir, "results/cells", id+".json"))
		}
	}
	c.kill("node2")
	t.Logf("node2 is killed, in %s, with %d cells measured", victim, len(before))

	if code := in.wait(t); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, in.output())
	}
	t.Logf("progress:\n%s", in.stderr.String())
	all := records(t, dir)
	if r := all[victim]; r.State != "measured" || r.Attempt < 2 || r.Host != "node1" {
		t.Errorf("the dead node's cell %s was not run again on the other node: %+v", victim, r)
	}
	for id, text := range before {
		if id != victim && readFile(t, filepath.Join(dir, "results/cells", id+".json")) != text {
			t.Errorf("the result of %s, which was there, is another one now", id)
		}
	}
	checkTable(t, in.stdout.Bytes())

	merged := once(t, 0, nil, "merge", "--json", filepath.Join(dir, "results"))
	if merged.stdout.String() != in.stdout.String() {
		t.Errorf("merge gives another table:\n%s", merged.stdout.String())
	}
	c.byHand(dir)
	again := c.matrix(dir)
	if code := again.wait(t); code != 0 || strings.Contains(again.stderr.String(), "job ") {
		t.Errorf("a matrix that is measured was submitted again, %d:\n%s", code, again.stderr.String())
	}
}

// byHand submits the script of docs/matrix.md, with the paths of this test. Its tasks find their parts by Slurm's variables, and all
// cells measured.
func (c *cluster) byHand(dir string) {
	c.t.Helper()
	_, script, _ := strings.Cut(readFile(c.t, "../../docs/matrix.md"), "```sh\n#!/bin/sh\n")
	script, _, _ = strings.Cut(script, "```")
	script = "#!/bin/sh\n" + strings.NewReplacer("exec bondrepro", "exec "+binary, "kernels.yaml", "matrix.yaml").Replace(script)
	file := filepath.Join(dir, "by-hand.sh")
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		c.t.Fatal(err)
	}
	_, err := osrun.Run(context.Background(), osrun.Cmd{
		Path: "sbatch", Args: []string{"--wait", file}, Dir: dir, Env: append(os.Environ(), "SLURM_CONF="+c.folder+"/slurm.conf"), Timeout: clusterPatience,
	})
	if err != nil {
		c.t.Errorf("the script of docs/matrix.md: %v", err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "matrix-*.log"))
	if err != nil || len(logs) != 6 {
		c.t.Errorf("%d tasks of the script wrote something, want 6 (%v)", len(logs), err)
	}
	for _, log := range logs {
		text := readFile(c.t, log)
		if !strings.Contains(text, "/6, as Slurm says") || strings.Count(text, "measured already") != 1 {
			c.t.Errorf("a task of the script has not one cell of six, or measured it again:\n%s", text)
		}
	}
}

// measuring tells whether the cell's guest is up, by the log of its task.
func measuring(t *testing.T, dir, id string) bool {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "results/slurm/*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		for line := range strings.Lines(readFile(t, log)) {
			if strings.Contains(line, id) && strings.Contains(line, booted) {
				return true
			}
		}
	}
	return false
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkTable: six cells, none with the wrong verdict. Two guests at a time take time from each other, so that some may not be
// able to tell; not all, as one node is dead most of the time.
func checkTable(t *testing.T, text []byte) {
	t.Helper()
	var table result.MatrixReport
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if len(table.Cells) != 6 || !table.Complete() {
		t.Errorf("%d cells, complete %v", len(table.Cells), table.Complete())
	}
	wrong := map[string]result.Verdict{"throttled": result.Bad, "small": result.Bad, "orphaned": result.Good}
	right := map[string]int{}
	for _, cell := range table.Cells {
		t.Logf("%-40s %-12s %s, attempt %d, %.0f s: %s", cell.ID, cell.Verdict, cell.Host, cell.Attempt, cell.TookS, cell.Reason)
		switch cell.Verdict {
		case wrong[cell.Setting]:
			t.Errorf("%s is %s: %s", cell.ID, cell.Verdict, cell.Reason)
		case result.Good, result.Bad:
			right[cell.Setting]++
		}
	}
	if right["throttled"]+right["small"] == 0 || right["orphaned"] == 0 {
		t.Errorf("no verdict at all of a kind of cell: %v", right)
	}
}

// TestClusterIsLeftAlone: an interrupted command takes its array along, and a mistake is one sentence before anything is submitted.
func TestClusterIsLeftAlone(t *testing.T) {
	c, dir := newCluster(t), matrixFolder(t)
	wrong := c.matrix(dir, "--partition", "moon")
	if code := wrong.wait(t); code != 128 || !strings.Contains(wrong.stderr.String(), "--partition moon: sbatch: error: Batch job submission failed: Invalid partition name specified") {
		t.Errorf("a partition that is not there: %d, %s", code, wrong.stderr.String())
	}
	in := c.matrix(dir)
	if !await(func() bool { _, ok := find(records(t, dir), "begun", ""); return ok || ended(in.process) }) || ended(in.process) {
		t.Fatalf("nothing runs:\n%s", in.process.Tail())
	}
	second := c.matrix(dir)
	if code := second.wait(t); code != 128 || !strings.Contains(second.stderr.String(), "an array of this matrix and folder is there already, job ") {
		t.Errorf("the same matrix twice at a time: %d, %s", code, second.stderr.String())
	}
	if err := in.process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := in.wait(t); code != 130 {
		t.Errorf("exit code %d, want 130:\n%s", code, in.output())
	}
	if left := c.squeue(); left != "" {
		t.Errorf("Slurm still has to do:\n%s", left)
	}
}
