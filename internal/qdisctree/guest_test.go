package qdisctree_test

import (
	"testing"
	"time"

	"bondrepro/internal/ifstate/statetest"
	"bondrepro/internal/vmtest"
)

func TestMain(m *testing.M) { vmtest.Main(m) }

// TestInGuest runs the tests below that begin with TestPort on NICs with one TX queue and with four.
func TestInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	files := vmtest.Programs(t, "ip", "tc")
	for name, queues := range map[string]int{"one queue": 1, "four queues": 4} {
		pattern := map[int]string{1: "^TestPort(PutBack|Commands|Refused)$", 4: "^TestPort(Killed|Refused)$"}[queues]
		if statetest.Stride(2) == 1 {
			pattern = "^TestPort"
		}
		t.Run(name, func(t *testing.T) {
			vmtest.Guest{
				Modules: []string{
					"sch_htb", "sch_tbf", "sch_fq", "sch_fq_codel", "sch_red", "sch_prio", "sch_ingress", "sch_netem",
					"cls_matchall", "act_gact",
				},
				NICs: 1, Queues: queues, CPUs: 2, Files: files, Patience: 8 * time.Minute,
			}.Run(t, pattern)
		})
	}
}

func onlyInGuest(t *testing.T) {
	t.Helper()
	if !vmtest.Inside() {
		t.Skip("needs a guest's interfaces: TestInGuest runs it there")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
