package stats

import (
	"math"
	"slices"
)

// Method is how a p was reached.
type Method string

// The methods of RankTest.
const (
	Exact  Method = "exact"  // all ways to deal the ranks to the two samples, ties as they are
	Approx Method = "normal" // the normal approximation, with corrections for ties and continuity
)

// exactUpTo is the number of values in both samples together up to which all ways are counted: 50 and 50 take about
// 40 ms. The approximation is good to a few percent of p from there on.
const exactUpTo = 100

// RankTest is the test of Mann and Whitney (Ann. Math. Stat. 18, 1947), also called Wilcoxon's rank sum test: does
// one sample tend to have larger values?
type RankTest struct {
	U      float64 // pairs in which other's value is above base's, plus half of those in which they are equal
	P      float64 // two-sided: twice the smaller tail, at most 1, so that each direction is claimed at half of it
	Method Method
}

// RankSum compares two samples by their ranks; equal values share the mean of their ranks. It is nil where a sample has
// fewer than two values. Two samples that both do not vary are exact whatever their size: 0 ten times against
// 500 ten times is 2 of the C(20, 10) ways to deal them, 1.1e-5; the same value throughout is 1.
//
// Ties make the distribution of U asymmetric. Where that is so, twice the smaller tail is larger than the
// probability of a deviation as large on either side, and is what scipy's permutation_test gives. (It is why the exact
// test is our own: the p of aclements/go-moremath doubles a tail of the mirrored U, which is another one with ties.)
func RankSum(base, other []float64) *RankTest {
	if len(base) < 2 || len(other) < 2 {
		return nil
	}
	ranks, ties := doubledRanks(append(slices.Clone(base), other...))
	n1, n2 := len(base), len(other)
	sum := 0
	for _, r := range ranks[n1:] {
		sum += r
	}
	t := &RankTest{U: float64(sum-n2*(n2+1)) / 2, Method: Exact}
	switch {
	case len(ties) == 1:
		t.P = 1
	case len(ties) == 2 && Summarize(base).Constant() && Summarize(other).Constant():
		t.P = SmallestP(n1, n2)
	case n1+n2 <= exactUpTo:
		t.P = exactRankSum(ranks, n2, sum)
	default:
		t.P, t.Method = approxRankSum(t.U, n1, n2, ties), Approx
	}
	return t
}

// SmallestP is the smallest p that an exact test of n1 against n2 values can reach: 2 of C(n1+n2, n1) ways.
func SmallestP(n1, n2 int) float64 {
	ways := 1.0
	for i := 1; i <= min(n1, n2); i++ {
		ways *= float64(max(n1, n2)+i) / float64(i)
	}
	return min(1, 2/ways)
}

// RunsFor is the smallest n for which an exact test of n against n values can get below p.
func RunsFor(p float64) int {
	n := 2
	for SmallestP(n, n) >= p {
		n++
	}
	return n
}

// doubledRanks are the ranks of xs times two, which makes shared ranks whole, and the sizes of the groups of
// equal values, singles too.
func doubledRanks(xs []float64) (ranks, ties []int) {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case xs[a] < xs[b]:
			return -1
		case xs[a] > xs[b]:
			return 1
		}
		return 0
	})
	ranks = make([]int, len(xs))
	for first := 0; first < len(order); {
		end := first
		for end < len(order) && xs[order[end]] == xs[order[first]] {
			end++
		}
		for _, i := range order[first:end] {
			ranks[i] = first + 1 + end
		}
		ties = append(ties, end-first)
		first = end
	}
	return ranks, ties
}

// exactRankSum counts the ways to choose n of ranks by their sum, and is the two-sided p of sum. Counts are floating
// point: they are only added, so they stay exact to some 1e-14 however large they get.
func exactRankSum(ranks []int, n, sum int) float64 {
	sorted := slices.Sorted(slices.Values(ranks))
	most := 0
	for _, r := range sorted[len(sorted)-n:] {
		most += r
	}
	ways := make([][]float64, n+1) // ways[k][s]: to choose k ranks with the sum s
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	reach := 0
	for i, r := range sorted {
		reach = min(reach+r, most)
		for k := min(i+1, n); k > 0; k-- {
			from, to := ways[k-1][:reach-r+1], ways[k][r:reach+1]
			for s, w := range from {
				to[s] += w
			}
		}
	}
	var total, below, above float64
	for s, w := range ways[n] {
		total += w
		if s <= sum {
			below += w
		}
		if s >= sum {
			above += w
		}
	}
	return min(1, 2*min(below, above)/total)
}

// approxRankSum is the normal approximation for U, as R's wilcox.test(exact = FALSE) and scipy's "asymptotic".
func approxRankSum(u float64, n1, n2 int, ties []int) float64 {
	tied := 0.0
	for _, t := range ties {
		tied += float64(t) * (float64(t)*float64(t) - 1)
	}
	n, pairs := float64(n1+n2), float64(n1)*float64(n2)
	sigma := math.Sqrt(pairs / 12 * (n + 1 - tied/(n*(n-1))))
	return normalTwoSided(max(0, math.Abs(u-pairs/2)-0.5) / sigma)
}
