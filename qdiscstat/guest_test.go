package qdiscstat_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/vmtest"
)

func TestMain(m *testing.M) { vmtest.Main(m) }

// guestKinds are the kinds a Debian guest can make: none of their tests may be skipped there.
var guestKinds = strings.Fields(`noqueue pfifo_fast pfifo bfifo mq mqprio tbf netem fq fq_codel codel prio sfq red sfb
	choke gred htb hfsc drr qfq ets cake pie fq_pie hhf multiq skbprio clsact ingress`)

// kindModules are what they need beyond what Debian builds in.
var kindModules = strings.Fields(`veth sch_mqprio sch_tbf sch_netem sch_fq sch_codel sch_prio sch_sfq sch_red sch_sfb
	sch_choke sch_gred sch_htb sch_hfsc sch_drr sch_qfq sch_ets sch_cake sch_pie sch_fq_pie sch_hhf sch_multiq
	sch_skbprio sch_ingress cls_matchall cls_u32 cls_flower cls_basic act_gact`)

// TestInGuest runs the comparisons with tc, and what else needs qdiscs that the running kernel may lack, in a guest.
func TestInGuest(t *testing.T) {
	if vmtest.Inside() {
		t.Skip("is outside")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	files, err := vmtest.Program(ctx, "tc")
	if err != nil {
		t.Fatal(err)
	}
	vmtest.Guest{
		Modules: kindModules, Files: files, Env: []string{"BONDREPRO_REQUIRE_QDISCS=" + strings.Join(guestKinds, " ")},
	}.Run(t, "^(TestAgainstTC|TestAction|TestReplacedQdisc|TestLeavesOfRealMQ|TestPollsDoNotAllocate)$")
}
