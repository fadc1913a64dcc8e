package scenarios_test

import (
	"testing"

	"bondrepro/internal/xmithash"
	"bondrepro/scenarios"
)

// What a scenario may expect of flows.mispredicted is what can be predicted, mode by mode and policy by policy.
func TestPredictionIsExpectedWhereItCanBeMade(t *testing.T) {
	for _, mode := range scenarios.BondModes {
		for _, policy := range scenarios.HashPolicies {
			s := scenarios.Default()
			for _, set := range []string{"topology.bond.mode=" + mode, "topology.bond.xmit_hash_policy=" + policy, "expect=[flows.mispredicted == 0]"} {
				if err := s.Set(set); err != nil {
					t.Fatal(err)
				}
			}
			if err, why := s.Validate(), xmithash.Why(mode, policy); (err == nil) != (why == "") {
				t.Errorf("%s with %s: got %v, and it can't be predicted because: %s", mode, policy, err, why)
			}
		}
	}
}
