package scenarios_test

import (
	"slices"
	"testing"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// What a scenario may accept are diagnoses that exist, each in its own words; nothing that tells a bad kernel is among them.
func TestAcceptableAreDiagnoses(t *testing.T) {
	for _, code := range scenarios.Acceptable {
		if d, ok := result.Diagnoses[code]; !ok || d.Title == "" {
			t.Errorf("there is no diagnosis %s", code)
		}
	}
	for code := range result.Diagnoses {
		s := scenarios.Default()
		s.Accept = []string{code}
		if err, may := s.Validate(), slices.Contains(scenarios.Acceptable, code); (err == nil) != may {
			t.Errorf("accept: [%s]: got %v, and it is acceptable: %v", code, err, may)
		}
	}
	for _, code := range []string{result.BackPressureLost, result.DropsUnpredicted, result.StuckQueue, result.LeakedCharge, result.ExpectationFailed} {
		if slices.Contains(scenarios.Acceptable, code) {
			t.Errorf("%s is what a scenario is there to find", code)
		}
	}
}
