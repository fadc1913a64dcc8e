package scenarios

import (
	"cmp"
	"fmt"
)

// otherNames are what people call a metric, too.
var otherNames = map[string]string{"goodput": "throughput"}

// LookupMetric is FindMetric with an error in one clause, which suggests the metric that is likely to be meant.
func LookupMetric(name string) (Metric, error) {
	if m, ok := FindMetric(cmp.Or(otherNames[name], name)); ok {
		return m, nil
	}
	near := nearestMetric(name)
	if near != "" {
		near = "; did you mean " + near + "?"
	}
	return Metric{}, fmt.Errorf("%q is not a metric%s (docs/metrics.md lists them)", name, near)
}
