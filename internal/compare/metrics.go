package compare

import (
	"slices"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// mains are the metrics that a workload's arms are compared in unless the user names others. They are few, as each takes its
// share of the error rate from the others (Holm).
var mains = map[string][]string{
	scenarios.WorkloadMulticast: {"rate.achieved", "slaves.qdisc.dropped"},
	scenarios.WorkloadStream:    {"throughput", "cpu.client.per_byte"},
	scenarios.WorkloadRR:        {"latency.oneway", "latency.p99"},
	scenarios.WorkloadMixed:     {"throughput"},
	scenarios.WorkloadUDP:       {"throughput", "datagrams.lost"},
	scenarios.WorkloadExternal:  {"throughput", "latency.oneway"},
}

// chosen are the metrics to compare in a case: the main ones of its workload, then the wanted ones, as far as there are; all that there
// are where that would be none.
func chosen(k result.ComparedCase, wanted []string, samples []result.Sample) (names []string) {
	there := present(k, samples)
	for _, name := range slices.Concat(mains[k.Workload], wanted) {
		if slices.Contains(there, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return there
	}
	return names
}

// present are the metrics that any sample of a case has, in the order of the metric table.
func present(k result.ComparedCase, samples []result.Sample) (names []string) {
	for _, m := range scenarios.Metrics {
		if slices.ContainsFunc(samples, func(s result.Sample) bool { _, ok := s.Metrics[m.Name]; return ok && s.Case == k.Name }) {
			names = append(names, m.Name)
		}
	}
	return names
}
