package counters_test

import (
	"testing"

	"bondrepro/qdiscstat/counters"

	"github.com/google/go-cmp/cmp"
)

func TestLeaves(t *testing.T) {
	const root, clsact = counters.HandleRoot, counters.HandleClsact
	for _, c := range []struct {
		name string
		in   []counters.Qdisc
		want []string
	}{
		{"nothing", nil, nil},
		{"a single root", []counters.Qdisc{{Ifindex: 1, Kind: "pfifo_fast", Parent: root}}, []string{"pfifo_fast"}},
		{"tbf with a listed child: the child", []counters.Qdisc{
			{Ifindex: 1, Kind: "tbf", Handle: 0x10000, Parent: root},
			{Ifindex: 1, Kind: "pfifo_fast", Handle: 0x20000, Parent: 0x10001},
		}, []string{"pfifo_fast"}},
		{"tbf with its invisible default child: tbf", []counters.Qdisc{
			{Ifindex: 1, Kind: "tbf", Handle: 0x10000, Parent: root},
		}, []string{"tbf"}},
		{"mq with a handle, one child replaced: all children", []counters.Qdisc{
			{Ifindex: 1, Kind: "mq", Handle: 0x50000, Parent: root},
			{Ifindex: 1, Kind: "q1", Parent: 0x50001},
			{Ifindex: 1, Kind: "q2", Handle: 0x80020000, Parent: 0x50002},
		}, []string{"q1", "q2"}},
		{"the default mq: handle 0, as its children have", []counters.Qdisc{
			{Ifindex: 1, Kind: "mq", Parent: root},
			{Ifindex: 1, Kind: "q1", Parent: 0x00001},
			{Ifindex: 1, Kind: "q2", Parent: 0x00002},
		}, []string{"q1", "q2"}},
		{"three levels: the last", []counters.Qdisc{
			{Ifindex: 1, Kind: "mq", Handle: 0x10000, Parent: root},
			{Ifindex: 1, Kind: "htb", Handle: 0x20000, Parent: 0x10001},
			{Ifindex: 1, Kind: "fq", Handle: 0x30000, Parent: 0x20010},
			{Ifindex: 1, Kind: "pfifo", Parent: 0x10002},
		}, []string{"fq", "pfifo"}},
		{"equal handles on two devices", []counters.Qdisc{
			{Ifindex: 1, Kind: "tbf", Handle: 0x10000, Parent: root},
			{Ifindex: 2, Kind: "prio", Handle: 0x10000, Parent: root},
			{Ifindex: 2, Kind: "child", Handle: 0x20000, Parent: 0x10001},
		}, []string{"tbf", "child"}},
		{"clsact queues nothing, and is no child of a root ffff:", []counters.Qdisc{
			{Ifindex: 1, Kind: "prio", Handle: 0xffff0000, Parent: root},
			{Ifindex: 1, Kind: "clsact", Handle: 0xffff0000, Parent: clsact},
		}, []string{"prio"}},
	} {
		var got []string
		for _, q := range counters.Leaves(c.in) {
			got = append(got, q.Kind)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
