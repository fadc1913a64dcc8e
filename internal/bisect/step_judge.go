package bisect

import (
	"context"
	"fmt"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// judging boots an image until its verdict stands.
type judging struct {
	runner Runner
	runs   scenarios.Runs // here they are boots
	state  *stepState
	log    func(string)
}

// judge fills in the step's outcome: bad by one boot that shows the symptom, good by as many clean boots as the scenario's
// runs ask for, skipped when that many were not had in runs.max, or when the kernel failed.
func (j *judging) judge(ctx context.Context, step *result.BisectStep, image Image, fingerprint string) error {
	if k := j.state.known(fingerprint); k != nil {
		step.Reused = k.Boots
		j.log(fmt.Sprintf("the image and its modules are those of %s: its verdict stands", k.Name))
		j.conclude(step, k.Outcome, k.Diagnosis, k.Why)
		return nil
	}
	need := j.runs.Needed()
	clean, last := 0, ""
	for boot := 1; boot <= j.runs.Max && clean < need; boot++ {
		t, err := j.runner.Run(ctx, image, j.state.LineRate)
		if err != nil {
			return err
		}
		t.Fingerprint = fingerprint
		step.Trials = append(step.Trials, t)
		j.log(fmt.Sprintf("boot %d of %d: %s", boot, need, told(t)))
		j.state.rate(t.LineRate)
		if t.Predicted || t.Verdict == result.Bad && t.Cause == result.CauseConfiguration {
			return wrong("this scenario fails on good kernels, too, so it can't find a commit: %s", t.Reason)
		}
		switch {
		case t.Failed:
			j.conclude(step, isSkipped, "", t.Reason)
			return nil
		case t.Verdict == result.Bad:
			j.state.learn(fingerprint, step, isBad, t.Diagnosis, t.Reason)
			j.conclude(step, isBad, t.Diagnosis, t.Reason)
			return nil
		case t.Verdict == result.Good:
			clean++
		}
		last = t.Reason
	}
	if clean < need {
		j.conclude(step, isSkipped, "", fmt.Sprintf("%d of %s were clean, and good takes %d: %s", clean, result.Plural(len(step.Trials), "boot"), need, last))
		return nil
	}
	j.state.learn(fingerprint, step, isGood, "", last)
	j.conclude(step, isGood, "", last)
	return nil
}

// conclude sets the outcome. Bad for another reason than the bad end is no verdict: it says nothing of what is looked for.
func (j *judging) conclude(step *result.BisectStep, outcome, diagnosis, why string) {
	step.Outcome, step.Why = outcome, why
	if outcome == isBad && !j.state.same(diagnosis) {
		step.Outcome = isSkipped
		step.Why = fmt.Sprintf("it is bad for another reason than the bad end, %s instead of %s: %s", diagnosis, j.state.Diagnosis, why)
	}
}

// told is a trial in a few words.
func told(t result.Trial) string {
	text := string(t.Verdict)
	if t.Failed {
		text = "the kernel failed"
	}
	return text + ": " + t.Reason
}
