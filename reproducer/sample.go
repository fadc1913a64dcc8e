package reproducer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bondrepro/internal/judge"
	"bondrepro/internal/measure"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Sample measures one arm of a comparison once: sc is the arm on a case (scenarios.Scenario.With), in a place that Open made
// for a scenario that has this arm. Over a bond that is a run as Measure makes it, judged for its metrics; one that a
// guard throws out is a sample with a Failure. Any other workload is measured in fresh network namespaces. Boot, At and
// Warmup are left to the caller. Errors are those of Measure; see also LacksTool.
func (s *Session) Sample(ctx context.Context, arm string, sc scenarios.Scenario) (result.Sample, error) {
	if sc.OnBond() {
		return s.sampleBond(ctx, arm, sc)
	}
	s.runs++
	job := measure.Job{Arm: arm, Run: s.firstRun + s.runs, Scenario: sc}
	if sc.Topology.Kind == scenarios.KindJoined {
		job.Slaves = s.place.Slaves()
	}
	sample, err := s.place.Sample(ctx, job)
	return sample, fromPlace(err)
}

func (s *Session) sampleBond(ctx context.Context, arm string, sc scenarios.Scenario) (result.Sample, error) {
	began := time.Now()
	sc = s.fit(sc)
	if err := s.probe(ctx, sc); err != nil {
		return result.Sample{}, err
	}
	sc = s.settleSenders(sc)
	rec, err := s.Measure(ctx, arm, sc)
	if err != nil {
		return result.Sample{}, err
	}
	sample := sampleOf(judge.Run(sc, s.Preflight(sc), rec))
	sample.Arm, sample.TookS = arm, time.Since(began).Seconds()
	return sample, nil
}

// sampleOf is what a judged run says in figures.
func sampleOf(j result.RunJudgement) result.Sample {
	if j.Valid {
		return result.Sample{Metrics: j.Metrics}
	}
	var why []string
	for _, g := range j.Guards {
		if !g.OK && !g.Off {
			why = append(why, g.Evidence)
		}
	}
	return result.Sample{Failure: "the run does not count: " + strings.Join(why, "; ")}
}

// LacksTool names the external tool (load.tool) that an error of Sample is about, which is not installed where it is to
// run; "" for other errors.
func LacksTool(err error) string { return measure.LacksTool(err) }

// hasVerdict refuses to judge what has no verdict.
func hasVerdict(sc scenarios.Scenario) error {
	switch {
	case len(sc.Arms) > 0:
		return fmt.Errorf("%s compares arms, and has no verdict: use bondrepro compare", sc.Name)
	case !sc.OnBond():
		return errors.New("workload " + sc.Workload + " has no verdict: compare it, as in bondrepro compare --a offload.tso=off --b offload.tso=on")
	}
	return nil
}
