package acceptance

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"bondrepro/reproducer/result"
)

// kernelCase is one boot of a kernel by `bondrepro run SCENARIO`.
type kernelCase struct {
	name     string
	scenario string // empty: bond-multicast-tx
	// mutant is the fault in the bonding.ko given with --module; empty for none.
	mutant string
	// kernel gives --kernel and what belongs to it; nil stands for BONDREPRO_KERNEL.
	kernel func(t *testing.T) []string
	args   []string

	exit    int
	verdict result.Verdict
	cause   result.Cause
	code    string // of the finding that decides; empty where the reason is not a finding
	says    string // a regular expression for what the command writes, with its line breaks as spaces
	check   check

	soak int // how often `make soak` runs it
}

func set(values ...string) (args []string) {
	for _, v := range values {
		args = append(args, "--set", v)
	}
	return args
}

// invalid is for runs that a guard throws away: two of them show it, and no control is wanted, as only GOOD rests on it.
func invalid(values ...string) []string {
	return append(set(append(values, "runs.max=2")...), "--no-control")
}

const (
	kernel        = result.CauseKernel
	configuration = result.CauseConfiguration
	cannotTell    = result.Inconclusive
)

var kernelCases = []kernelCase{
	{name: "stock, 1 sender", soak: 20, exit: 0, verdict: result.Good, says: `GOOD: `,
		kernel: func(*testing.T) []string { return []string{"--kernel", "deb:linux-image-cloud-amd64"} },
		check:  all(noDrops, charged, balanced, controlDrops)},
	{name: "orphaning", soak: 20, mutant: "orphan", exit: 1, verdict: result.Bad, cause: kernel,
		code: "back-pressure-lost", says: `(?i)back-pressure (is )?lost`, check: all(drops, orphaned)},
	{name: "orphaning every second packet", soak: 20, mutant: "orphan-half", exit: 1, verdict: result.Bad, cause: kernel,
		code: "back-pressure-lost", says: `(?i)back-pressure (is )?lost`, check: all(noDrops, orphaned)},
	{name: "orphaning, TX timestamping on", soak: 5, mutant: "orphan", args: set("traffic.socket.tx_timestamping=on"),
		exit: 0, verdict: result.Good, says: `(?i)timestamp`, check: all(noDrops, charged, balanced, warns("hides"))},

	{name: "stock, 4 queues, 1 sender", soak: 5, args: set("topology.slaves.queues=4"), exit: 0, verdict: result.Good,
		says: `GOOD: `, check: all(noDrops, charged, balanced, controlDrops)},
	{name: "stock, 4 queues, 8 senders", soak: 5, args: set("topology.slaves.queues=4", "traffic.senders=8"), exit: 0,
		verdict: result.Good, says: `GOOD: `, check: all(noDrops, charged, balanced, controlDrops)},
	{name: "orphaning, 4 queues, 1 sender", soak: 5, mutant: "orphan", args: set("topology.slaves.queues=4"), exit: 1,
		verdict: result.Bad, cause: kernel, code: "back-pressure-lost", says: `(?i)back-pressure (is )?lost`, check: all(drops, orphaned)},
	{name: "orphaning, 4 queues, 8 senders", soak: 5, mutant: "orphan", args: set("topology.slaves.queues=4", "traffic.senders=8"),
		exit: 1, verdict: result.Bad, cause: kernel, code: "back-pressure-lost", says: `(?i)back-pressure (is )?lost`, check: all(drops, orphaned)},

	{name: "IPv6", soak: 5, args: set("traffic.groups=[ff0e::4242:1]"), exit: 0, verdict: result.Good, says: `GOOD: `,
		check: all(noDrops, charged, balanced, controlDrops)},
	{name: "orphaning, IPv6", soak: 5, mutant: "orphan", args: set("traffic.groups=[ff0e::4242:1]"), exit: 1, verdict: result.Bad,
		cause: kernel, code: "back-pressure-lost", says: `(?i)back-pressure (is )?lost`, check: all(drops, orphaned)},
	{name: "802.3ad with a partner, 16 groups", soak: 5, args: set("topology.bond.mode=802.3ad", "topology.bond.xmit_hash_policy=layer3+4",
		"traffic.groups={first: 239.1.1.1, count: 16}"), exit: 0, verdict: result.Good, says: `16 of 16 went where the hash puts them`,
		check: all(noDrops, charged, balanced, spreadOver(2))},
	{name: "balance-xor, a policy that puts all groups on one slave", soak: 5, args: set("topology.bond.mode=balance-xor",
		"topology.bond.xmit_hash_policy=layer2+3", "traffic.groups={first: 239.1.1.1, count: 16}"), exit: 0, verdict: result.Good,
		says: `layer2\+3 hash gives all 16 flows to`, check: all(noDrops, charged, balanced, spreadOver(1))},
	{name: "balance-rr", soak: 5, args: set("topology.bond.mode=balance-rr"), exit: 0, verdict: result.Good,
		says: `takes slaves in turn`, check: all(noDrops, charged, balanced, spreadOver(2))},
	{name: "as many senders as fit", soak: 5, args: set("traffic.senders=auto", "topology.slaves.txqueuelen=100", "traffic.duration=2s"), exit: 0,
		verdict: result.Good, says: `: fits`, check: all(noDrops, charged, controlDrops)},

	{name: "sndbuf_force=64MiB", soak: 5, args: set("traffic.socket.sndbuf_force=64MiB"), exit: 1, verdict: result.Bad,
		cause: configuration, says: `(?i)configuration`, check: all(drops, charged, preflightNamed)},
	{name: "64 senders", soak: 5, args: set("traffic.senders=64"), exit: 1, verdict: result.Bad,
		cause: configuration, says: `(?i)configuration`, check: all(drops, charged, preflightNamed)},
	{name: "broadcast, equal lines", soak: 5, args: set("topology.bond.mode=broadcast"), exit: 0, verdict: result.Good,
		says: `GOOD: `, check: all(noDrops, noOracle)},
	{name: "broadcast, unequal lines", soak: 5,
		args: set("topology.bond.mode=broadcast", "topology.slaves.line_rate=[60mbit,100mbit]"), exit: 1, verdict: result.Bad,
		cause: configuration, code: "broadcast-clones", says: `(?i)clone`, check: all(drops, noOracle)},

	{name: "losing 1 in 1000", soak: 5, mutant: "lose", exit: 1, verdict: result.Bad, cause: kernel,
		code: "lost-uncounted", says: `(?i)lost|missing`, check: hopNamed(+1)},
	{name: "sending 1 in 1000 twice", soak: 5, mutant: "duplicate", exit: 1, verdict: result.Bad, cause: kernel,
		code: "duplicated-uncounted", says: `(?i)twice`, check: hopNamed(-1)},

	{name: "a sender too slow for the line", soak: 5, args: invalid("traffic.rate=1kpps", "topology.slaves.line_rate=100mbit"),
		exit: 125, verdict: cannotTell, says: `line_full`, check: guardTripped("line_full")},
	{name: "a slave set down", soak: 5, args: invalid("faults=[{at: 1s, slave_down: 0}]"),
		exit: 125, verdict: cannotTell, says: `slave_stable`, check: all(guardTripped("slave_stable"), heard("link_down", "active_slave"))},
	{name: "traffic past the bond", soak: 5, args: invalid("faults=[{at: 0s, bypass_bond: 0}]"),
		exit: 125, verdict: cannotTell, says: `into_bond`, check: guardTripped("into_bond")},
	{name: "a qdisc replaced", soak: 5, args: invalid("faults=[{at: 1s, replace_qdisc: 0}]"),
		exit: 125, verdict: cannotTell, says: `qdisc_stable`, check: guardTripped("qdisc_stable")},

	{name: "a kernel without netem", soak: 5, kernel: func(t *testing.T) []string { return tree(t, withoutNetem) },
		exit: 0, verdict: result.Good, says: `(?i)weaker`, check: all(noDrops, charged, balanced, weakerControl)},
	{name: "a kernel without bonding", soak: 5, kernel: func(t *testing.T) []string { return tree(t, withoutBonding) },
		exit: 125, verdict: cannotTell, says: `(?i)bonding`},
	{name: "a panic at load", soak: 5, mutant: "panic-load", exit: 125, verdict: cannotTell, says: `bonding: panic-load`},
	{name: "a panic in the run", soak: 5, mutant: "panic-run", exit: 125, verdict: cannotTell, says: `bonding: panic-run`},
	{name: "a hang at load", soak: 5, mutant: "hang-load", exit: 125, verdict: cannotTell, says: `the guest's kernel hung`, check: reason(`the guest's kernel hung`)},
	{name: "a hang in the run", soak: 5, mutant: "hang-run", exit: 125, verdict: cannotTell, says: `the guest's kernel hung`, check: reason(`the guest's kernel hung`)},
}

func TestKernels(t *testing.T) {
	need(t)
	for _, c := range kernelCases {
		t.Run(c.name, func(t *testing.T) {
			times := 1
			if soakReport != "" {
				times = c.soak
			}
			for i := range times {
				var wall time.Duration
				passed := t.Run(fmt.Sprint(i+1), func(t *testing.T) { wall = c.run(t) })
				if err := report.add(c.name, c.want(), wall, passed); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// want is what the case must end in, for the report.
func (c *kernelCase) want() string {
	text := fmt.Sprintf("%d %s", c.exit, c.verdict)
	if c.cause != "" {
		text += ", " + string(c.cause)
	}
	if c.code != "" {
		text += ", " + c.code
	}
	return text
}

// run boots once and checks everything; it returns the command's wall time.
func (c *kernelCase) run(t *testing.T) (wall time.Duration) {
	file := filepath.Join(t.TempDir(), "result.json")
	in := c.command(t, file)
	wall = time.Since(in.started)
	t.Logf("%.1f s", wall.Seconds())
	if !regexp.MustCompile(c.says).MatchString(strings.Join(strings.Fields(in.output()), " ")) {
		t.Errorf("it does not say %s", c.says)
	}
	defer func() {
		if t.Failed() {
			t.Logf("it wrote:\n%s", in.output())
		}
	}()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := load(t, data)
	report.on(r)
	j := r.Judgement
	if j.Verdict != c.verdict || j.Cause != c.cause || j.Reason == "" {
		t.Errorf("judged %s %s (%s), want %s %s with a reason", j.Verdict, j.Cause, j.Reason, c.verdict, c.cause)
	}
	if c.code != "" && (len(j.Diagnosis) == 0 || j.Diagnosis[0].Code != c.code) {
		t.Errorf("diagnosis %+v, want %s first", j.Diagnosis, c.code)
	}
	if c.mutant != "" && c.exit != 125 {
		ran(mutant(c.mutant))(t, r)
	}
	if c.check != nil {
		c.check(t, r)
	}
	c.judgedAgain(t, file, r)
	return wall
}

// stoodStill is how the command tells that nothing more came of a guest's kernel.
var stoodStill = regexp.MustCompile(`did not finish to|the guest's kernel (hung|reached no userspace)`)

// command runs the case's command. A good guest that stood still is booted once more: under TCG one in some hundred does.
func (c *kernelCase) command(t *testing.T, file string) *invocation {
	t.Helper()
	in := start(t, shortTemp(t), nil, c.arguments(t, file)...)
	code := in.wait(t)
	nothingLeft(t, in.tmp)
	if c.exit != 125 && code == 125 && stoodStill.MatchString(in.output()) {
		t.Logf("the guest stood still: once more; it wrote:\n%s", in.output())
		return once(t, c.exit, nil, c.arguments(t, file)...)
	}
	if code != c.exit {
		t.Errorf("bondrepro %q ended in %d, want %d; it wrote:\n%s", c.arguments(t, file), code, c.exit, in.output())
	}
	return in
}

// arguments are the whole command line.
func (c *kernelCase) arguments(t *testing.T, file string) []string {
	args := []string{"run", cmp.Or(c.scenario, "bond-multicast-tx"), "--testbed", "vm", "-o", file}
	if c.kernel != nil {
		args = append(args, c.kernel(t)...)
	} else {
		args = append(args, "--kernel", kernelDeb)
	}
	if c.mutant != "" {
		args = append(args, "--module", "bonding="+mutant(c.mutant))
	}
	return append(args, c.args...)
}

// judgedAgain: `bondrepro judge` on the file ends alike and gives the same result.
func (c *kernelCase) judgedAgain(t *testing.T, file string, first *result.Result) {
	t.Helper()
	again := load(t, once(t, c.exit, nil, "judge", "--json", file).stdout.Bytes())
	if !reflect.DeepEqual(first, again) {
		t.Errorf("judged again, the result differs:\n%+v\nfirst:\n%+v", again.Judgement, first.Judgement)
	}
}
