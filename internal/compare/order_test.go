package compare

import (
	"fmt"
	"strings"
	"testing"

	"bondrepro/reproducer/result"
)

// written is a plan as text: a group's number, then its runs; small letters count, capitals warm up.
func written(boots []plannedBoot, cases int) string {
	var all []string
	for _, b := range boots {
		text := ""
		for _, p := range b.runs {
			letter := string(rune('a' + p.arm))
			if p.warmup {
				letter = strings.ToUpper(letter)
			}
			if cases > 1 {
				letter += fmt.Sprint(p.kase)
			}
			text += letter
		}
		all = append(all, fmt.Sprintf("%d:%s", b.group, text))
	}
	return strings.Join(all, " ")
}

func TestPlans(t *testing.T) {
	for _, c := range []struct {
		name   string
		order  result.Order
		groups [][]int
		cases  int
		want   string
	}{
		{"ABBA in one place", result.Order{Runs: 4, Boots: 1, Warmup: 1}, [][]int{{0, 1}}, 1, "0:ABabbaabba"},
		{"an odd number", result.Order{Runs: 3, Boots: 1}, [][]int{{0, 1}}, 1, "0:abbaab"},
		{"three arms", result.Order{Runs: 2, Boots: 1}, [][]int{{0, 1, 2}}, 1, "0:abccba"},
		{"two kernels", result.Order{Runs: 4, Boots: 2, Warmup: 1}, [][]int{{0}, {1}}, 1, "0:Aaa 1:Bbb 1:Bbb 0:Aaa"},
		{"runs that do not divide", result.Order{Runs: 5, Boots: 2}, [][]int{{0}, {1}}, 1, "0:aaa 1:bbb 1:bb 0:aa"},
		{"two kernels, two arms of the first", result.Order{Runs: 2, Boots: 2}, [][]int{{0, 2}, {1}}, 1, "0:ac 1:b 1:b 0:ca"},
		{"boots of one kernel", result.Order{Runs: 4, Boots: 2}, [][]int{{0, 1}}, 1, "0:abba 0:abba"},
		{"cases", result.Order{Runs: 2, Boots: 1, Warmup: 1}, [][]int{{0, 1}}, 2, "0:A0B0A1B1a0b0a1b1b1a1b0a0"},
	} {
		c.order.Kind = result.OrderABBA
		if got := written(plan(c.order, c.groups, c.cases), c.cases); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRandomPlansRepeatBySeed(t *testing.T) {
	at := func(seed uint64) string {
		return written(plan(result.Order{Kind: result.OrderRandom, Seed: seed, Runs: 20, Boots: 1}, [][]int{{0, 1}}, 1), 1)
	}
	once, again, other := at(7), at(7), at(8)
	if once != again || once == other {
		t.Error("the same seed must give the same order, another seed another one")
	}
	for i, text := 0, at(7)[2:]; i < len(text); i += 2 {
		if pair := text[i : i+2]; pair != "ab" && pair != "ba" {
			t.Fatalf("round %d is %s: each arm is measured once a round", i/2+1, pair)
		}
	}
}

func TestSettledOrders(t *testing.T) {
	for _, c := range []struct {
		order  result.Order
		places int
		want   result.Order
		err    string
	}{
		{result.Order{Warmup: 1}, 1, result.Order{Kind: "abba", Runs: 8, Boots: 1, Warmup: 1}, ""},
		{result.Order{Warmup: 1}, 2, result.Order{Kind: "abba", Runs: 8, Boots: 5, Warmup: 1}, ""},
		{result.Order{Runs: 3}, 2, result.Order{Kind: "abba", Runs: 3, Boots: 3}, ""},
		{result.Order{Kind: "random", Seed: 3, Runs: 1}, 1, result.Order{Kind: "random", Seed: 3, Runs: 1, Boots: 1}, ""},
		{result.Order{Kind: "latin"}, 1, result.Order{}, "--order latin: there is none of that name; use abba or random"},
		{result.Order{Runs: -1}, 1, result.Order{}, "-n -1: it must be 1 at least"},
		{result.Order{Runs: 2, Boots: 3}, 1, result.Order{}, "--boots 3: there are only 2 runs of an arm (-n), and each boot needs one"},
	} {
		got, err := settleOrder(c.order, c.places)
		if text := fmt.Sprint(err); c.err != "" && text != c.err {
			t.Errorf("%+v: %v, want %s", c.order, err, c.err)
		}
		if c.err == "" && (err != nil || got != c.want) {
			t.Errorf("%+v: %+v, %v; want %+v", c.order, got, err, c.want)
		}
	}
	o, err := settleOrder(result.Order{Kind: "random"}, 1)
	if err != nil || o.Seed == 0 {
		t.Errorf("a random order without a seed: %+v, %v", o, err)
	}
}

// However many arms share a boot, every sample of a plan is there as often as asked.
func TestPlansAreComplete(t *testing.T) {
	for _, kind := range []string{result.OrderABBA, result.OrderRandom} {
		for runs := 1; runs < 8; runs++ {
			for boots := 1; boots <= runs; boots++ {
				count := map[planned]int{}
				for _, b := range plan(result.Order{Kind: kind, Seed: 5, Runs: runs, Boots: boots, Warmup: 2}, [][]int{{0, 3}, {1}, {2}}, 2) {
					for _, p := range b.runs {
						count[p]++
					}
				}
				for p, n := range count {
					if want := map[bool]int{false: runs, true: 2 * boots}[p.warmup]; n != want {
						t.Fatalf("%s, %d runs in %d boots: %+v %d times, want %d", kind, runs, boots, p, n, want)
					}
				}
				if len(count) != 16 {
					t.Fatalf("%d kinds of samples, want 16", len(count))
				}
			}
		}
	}
}
