package qdisctree_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bondrepro/internal/qdisctree"
)

// flags puts IFF_UP back, as the caller of Restore does before.
func flags(t *testing.T, want qdisctree.Tree) {
	t.Helper()
	all(t, "ip link set DEV "+map[bool]string{true: "up", false: "down"}[want.Up])
}

// build makes a tree of the table and reads it.
func build(t *testing.T, c tree) (want qdisctree.Tree, text string) {
	t.Helper()
	asNew(t)
	if c.dflt != "" {
		setDefault(t, c.dflt)
	}
	all(t, c.lines...)
	want, err := qdisctree.Read(ifindex(t))
	must(t, err)
	if bad := want.Irrestorable(); len(bad) > 0 {
		t.Fatalf("can't be put back: %q", bad)
	}
	return want, shown(t)
}

// same wants that tc shows the text again.
func same(t *testing.T, text string) {
	t.Helper()
	now := shown(t)
	if sorted(now) != sorted(text) {
		t.Errorf("tc showed\n%snow\n%s", text, now)
	} else if now != text {
		t.Logf("in another order: tc showed\n%snow\n%s", text, now)
	}
}

func eachTree(t *testing.T, f func(t *testing.T, c tree)) {
	onlyInGuest(t)
	for _, c := range trees(t) {
		if c.queues == 0 || c.queues == queues(t) {
			t.Run(c.name, func(t *testing.T) { f(t, c) })
		}
	}
	asNew(t)
}

// Every tree is put back after every wreck, and a tree that is as wanted is left alone.
func TestPortPutBack(t *testing.T) {
	eachTree(t, func(t *testing.T, c tree) {
		want, text := build(t, c)
		if (len(want.Qdiscs) == 0) != c.neverUp {
			t.Errorf("%d qdiscs", len(want.Qdiscs))
		}
		unchanged(t, want)
		same(t, text)
		for _, w := range wrecks {
			t.Run(w.name, func(t *testing.T) {
				all(t, w.lines(t)...)
				flags(t, want)
				if err := qdisctree.Restore(ifindex(t), want, nil); err != nil {
					t.Error(err)
				}
				same(t, text)
				unchanged(t, want)
			})
		}
	})
}

func unchanged(t *testing.T, want qdisctree.Tree) {
	t.Helper()
	must(t, qdisctree.Restore(ifindex(t), want, func(command string) { t.Errorf("nothing differed, and it did: %s", command) }))
}

// errStopped stands for a SIGKILL.
var errStopped = errors.New("stopped")

// restoreUpTo stops after n changes and tells whether it did.
func restoreUpTo(t *testing.T, want qdisctree.Tree, n int) (stopped bool) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil && r != any(errStopped) {
			panic(r)
		} else if r != nil {
			stopped = true
		}
	}()
	must(t, qdisctree.Restore(ifindex(t), want, func(string) {
		if n--; n == 0 {
			panic(errStopped)
		}
	}))
	return false
}

// Every tree is put back when a Restore was killed after each of its changes.
func TestPortKilled(t *testing.T) {
	points := 0
	eachTree(t, func(t *testing.T, c tree) {
		want, text := build(t, c)
		points += killedEverywhere(t, wrecks[netem], want, text)
		if c.neverUp { // a default qdisc has to go, too
			points += killedEverywhere(t, wrecks[deleted], want, text)
		}
	})
	t.Logf("%d points", points)
	if points < 60 {
		t.Errorf("only %d points", points)
	}
}

// killedEverywhere stops Restore after each of its changes in turn and tells how many there were.
func killedEverywhere(t *testing.T, w wreck, want qdisctree.Tree, text string) (points int) {
	t.Helper()
	for n := 1; ; n++ {
		all(t, w.lines(t)...)
		flags(t, want)
		if !restoreUpTo(t, want, n) {
			return points
		}
		points++
		flags(t, want)
		if err := qdisctree.Restore(ifindex(t), want, nil); err != nil {
			t.Errorf("%s, after %d changes: %v", w.name, n, err)
		}
		same(t, text)
	}
}

// The command lines that Restore tells do the same.
func TestPortCommands(t *testing.T) {
	eachTree(t, func(t *testing.T, c tree) {
		want, text := build(t, c)
		var commands []string
		all(t, wrecks[netem].lines(t)...)
		flags(t, want)
		must(t, qdisctree.Restore(ifindex(t), want, func(command string) { commands = append(commands, command) }))
		recording, err := json.Marshal(record(t))
		must(t, err)
		t.Logf("recorded %s", recording)
		all(t, wrecks[netem].lines(t)...)
		flags(t, want)
		all(t, commands...)
		have, err := qdisctree.Read(ifindex(t))
		must(t, err)
		if d := qdisctree.Differences(want, have); len(d) > 0 {
			t.Errorf("%s", strings.Join(d, "\n"))
		}
		same(t, text)
	})
}

// record is a recording for testdata/NAME.json, which the log holds in one line.
func record(t *testing.T) qdisctree.Recorded {
	t.Helper()
	r, err := qdisctree.Record(ifindex(t))
	must(t, err)
	return r
}

// What can't be put back is named, and nothing is done.
func TestPortRefused(t *testing.T) {
	onlyInGuest(t)
	const htb = "tc qdisc replace dev DEV root handle 1: htb default 1"
	const class = "tc class add dev DEV parent 1: classid 1:1 htb rate 1mbit"
	for _, c := range []struct {
		name  string
		lines []string
		want  []string // in the clauses, one each
	}{
		{"red", []string{"tc qdisc replace dev DEV root handle 1: red limit 400000 avpkt 1000 bandwidth 10mbit"}, []string{"qdisc red (1: root): only bfifo, fq,"}},
		{"prio", []string{"tc qdisc replace dev DEV root handle 1: prio"}, []string{"qdisc prio (1: root)"}},
		{"netem", []string{"tc qdisc replace dev DEV root handle 1: netem delay 1ms"}, []string{"qdisc netem (1: root)"}},
		{"netem below tbf", []string{"tc qdisc replace dev DEV root handle 1: tbf rate 1mbit burst 3000 limit 9000", "tc qdisc replace dev DEV parent 1:1 handle 2: netem delay 1ms"},
			[]string{"qdisc netem (2: parent 1:1)"}},
		{"filter at htb", []string{htb, class, "tc filter add dev DEV parent 1: matchall classid 1:1"}, []string{"filters at 1: (matchall pref 49152)"}},
		{"filter at a class", []string{htb, class, "tc filter add dev DEV parent 1:1 pref 3 matchall classid 1:1"}, []string{"filters at 1:1 (matchall pref 3)"}},
		{"filters at fq_codel", []string{"tc qdisc replace dev DEV root handle 4: fq_codel", "tc filter add dev DEV parent 4: pref 3 matchall classid 4:1", "tc filter add dev DEV parent 4: pref 4 matchall classid 4:1"},
			[]string{"filters at 4: (matchall pref 3, matchall pref 4)"}},
		{"clsact", []string{"tc qdisc add dev DEV clsact"}, []string{"qdisc clsact: remove it (tc qdisc del dev eth0 clsact)"}},
		{"clsact with filters", []string{"tc qdisc add dev DEV clsact", "tc filter add dev DEV ingress matchall action continue", "tc filter add dev DEV egress matchall action continue"},
			[]string{"qdisc clsact", "filters at ingress (matchall pref 49152)", "filters at egress (matchall pref 49152)"}},
		{"ingress", []string{"tc qdisc add dev DEV ingress"}, []string{"qdisc ingress"}},
		{"ingress with a filter", []string{"tc qdisc add dev DEV ingress", "tc filter add dev DEV ingress pref 7 matchall action continue"}, []string{"qdisc ingress", "filters at ingress (matchall pref 7)"}},
		{"size table", []string{"tc qdisc replace dev DEV root handle 1: stab overhead 20 linklayer ethernet mtu 2048 tsize 512 pfifo"}, []string{"qdisc pfifo (1: root) with a size table"}},
		{"shared block", []string{"tc qdisc add dev DEV ingress_block 22 ingress"}, []string{"qdisc ingress"}},
		{"rate estimator", []string{"tc qdisc replace dev DEV root handle 1: estimator 1s 4s pfifo"}, []string{"qdisc pfifo (1: root) with a rate estimator"}},
		{"rate estimator of a class", []string{htb, "tc class add dev DEV parent 1: classid 1:1 estimator 1s 4s htb rate 1mbit"}, []string{"class htb 1:1 (root) with a rate estimator"}},
		{"default of former times", []string{"SYSCTL fq_codel"}, []string{"without a handle, which is not what net.core.default_qdisc would make (fq_codel)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			asNew(t)
			all(t, up)
			for _, line := range c.lines {
				if kind, ok := strings.CutPrefix(line, "SYSCTL "); ok {
					setDefault(t, kind)
				} else {
					all(t, line)
				}
			}
			refused(t, c.want)
		})
	}
	t.Run("queue without a qdisc", func(t *testing.T) {
		if queues(t) == 1 {
			t.Skip("mq needs several queues: the other guest has them")
		}
		asNew(t)
		all(t, up, "tc qdisc replace dev DEV root handle 1: mq", "tc qdisc replace dev DEV parent 1:2 handle 2: pfifo", "tc qdisc del dev DEV parent 1:2")
		refused(t, []string{"qdisc mq (1: root) without a qdisc at 1:2"})
	})
	t.Run("MTU of former times", func(t *testing.T) {
		asNew(t)
		setDefault(t, "fq_codel")
		all(t, up, "ip link set DEV mtu 1200")
		refused(t, []string{"whose quantum of 1514 was made before the interface's MTU became 1200"})
	})
	asNew(t)
}

// refused wants the port's tree refused with the clauses; of alike clauses for several queues only the first is looked at.
func refused(t *testing.T, clauses []string) {
	t.Helper()
	have, err := qdisctree.Read(ifindex(t))
	must(t, err)
	bad := have.Irrestorable()
	t.Logf("%q", bad)
	for i, clause := range clauses {
		if len(bad) <= i || !strings.Contains(bad[i], clause) {
			t.Errorf("want %q in %q", clause, bad)
		}
	}
	all(t, "-tc qdisc replace dev DEV root pfifo limit 3")
	before := shown(t)
	var irrestorable *qdisctree.IrrestorableError
	err = qdisctree.Restore(ifindex(t), have, func(command string) { t.Error(fmt.Sprint("it did ", command)) })
	if !errors.As(err, &irrestorable) {
		t.Errorf("Restore: %v", err)
	}
	if now := shown(t); now != before {
		t.Errorf("tc showed\n%snow\n%s", before, now)
	}
}
