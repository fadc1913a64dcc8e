package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"bondrepro/reproducer/result"
)

// The defaults of an order.
const (
	// DefaultRuns let an exact test of two arms get to 1.6e-4, which a correction for a dozen metrics leaves below 0.05.
	DefaultRuns = 8
	// DefaultBoots let an exact test of two arms in boots of their own get below 0.05, with one to spare.
	DefaultBoots  = 5
	DefaultWarmup = 1
)

// planned is one sample to take.
type planned struct {
	arm, kase int
	warmup    bool
}

// plannedBoot is one place to open, and what to measure there.
type plannedBoot struct {
	group int
	runs  []planned
}

// groups divides arms by what one boot can measure, in the order of their first arms.
func groups(arms []Arm) (all [][]int) {
	for i, a := range arms {
		g := slices.IndexFunc(all, func(g []int) bool { return arms[g[0]].samePlace(a) })
		if g < 0 {
			all = append(all, nil)
			g = len(all) - 1
		}
		all[g] = append(all[g], i)
	}
	return all
}

// settleOrder fills in what the user left open (0 or empty; a warm-up below 0 is none), for so many groups of arms.
func settleOrder(o result.Order, places int) (result.Order, error) {
	if o.Kind == "" {
		o.Kind = result.OrderABBA
	}
	if o.Runs == 0 {
		o.Runs = DefaultRuns
	}
	if o.Boots == 0 {
		if o.Boots = 1; places > 1 {
			o.Boots = min(DefaultBoots, o.Runs)
		}
	}
	o.Warmup = max(0, o.Warmup)
	switch {
	case o.Kind != result.OrderABBA && o.Kind != result.OrderRandom:
		return o, fmt.Errorf("--order %s: there is none of that name; use abba or random", o.Kind)
	case o.Runs < 1:
		return o, fmt.Errorf("-n %d: it must be 1 at least", o.Runs)
	case o.Boots < 1:
		return o, fmt.Errorf("--boots %d: it must be 1 at least", o.Boots)
	case o.Boots > o.Runs:
		return o, fmt.Errorf("--boots %d: there are only %s of an arm (-n), and each boot needs one", o.Boots, result.Plural(o.Runs, "run"))
	}
	if o.Kind == result.OrderRandom && o.Seed == 0 {
		o.Seed = rand.Uint64()>>12 + 1 // short enough to be typed, and exact in JSON
	}
	return o, nil
}

// plan places all samples in time. Arms of a group are measured in turns in each of its boots; groups take turns in being
// booted. Turns go forth and back, so that an even number of them puts the mean time of each arm in one place; or each is in a
// random order of its own. A boot's warm-up comes first, each arm in each case.
func plan(o result.Order, groups [][]int, cases int) (boots []plannedBoot) {
	turn := turnsOf(o)
	rounds := make([]int, len(groups))
	for b := range o.Boots {
		runs := o.Runs / o.Boots
		if b < o.Runs%o.Boots {
			runs++
		}
		for _, g := range turn(b, len(groups)) {
			boot := plannedBoot{group: g}
			round := func(number int, warmup bool) {
				for _, c := range turn(number, cases) {
					for _, i := range turn(number, len(groups[g])) {
						boot.runs = append(boot.runs, planned{groups[g][i], c, warmup})
					}
				}
			}
			for range o.Warmup {
				round(0, true)
			}
			for range runs {
				round(rounds[g], false)
				rounds[g]++
			}
			boots = append(boots, boot)
		}
	}
	return boots
}

// turnsOf gives the order of n things in their number-th turn.
func turnsOf(o result.Order) func(number, n int) []int {
	if o.Kind == result.OrderRandom {
		random := rand.New(rand.NewPCG(o.Seed, 0))
		return func(_, n int) []int { return random.Perm(n) }
	}
	return func(number, n int) []int {
		turn := make([]int, n)
		for i := range turn {
			turn[i] = i
		}
		if number%2 == 1 {
			slices.Reverse(turn)
		}
		return turn
	}
}
