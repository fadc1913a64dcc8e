package measure

import (
	"context"
	"encoding/json"
	"fmt"
)

// The kinds of calls a guest serves with this package.
const (
	KindProbe   = "probe"
	KindMeasure = "measure"
	KindSample  = "sample"
)

// Reply carries an answer, or why there is none, to another process.
type Reply struct {
	Answer json.RawMessage `json:"answer,omitempty"`
	Fault  *Fault          `json:"fault,omitempty"`
}

// Serve does the call of the given kind for a job that came from another process.
func Serve(ctx context.Context, kind string, body json.RawMessage) (Reply, error) {
	var job Job
	if err := json.Unmarshal(body, &job); err != nil {
		return Reply{}, fmt.Errorf("%s: decode the job: %w", kind, err)
	}
	var answer any
	var err error
	switch kind {
	case KindProbe:
		answer, err = ProbeTopology(ctx, job)
	case KindMeasure:
		answer, err = Measure(ctx, job)
	case KindSample:
		answer, err = MeasureLoad(ctx, job)
	default:
		return Reply{}, fmt.Errorf("no such call: %s", kind)
	}
	if err != nil {
		return Reply{Fault: AsFault(err)}, nil
	}
	raw, err := json.Marshal(answer)
	return Reply{Answer: raw}, err
}
