package result

import "testing"

// TestDiagnosesSpeak: every mechanism has its words, the title without a full stop, the text with one.
func TestDiagnosesSpeak(t *testing.T) {
	for _, code := range []string{
		BackPressureLost, OrphanedAsAsked, SndbufExceedsQueue, BroadcastClones, DropsUnpredicted, LostUncounted, DuplicatedUncounted,
		StuckQueue, LeakedCharge, ExpectationFailed, OneSlaveHash, SlaveDown, RingStops, SenderTooSlow, FewSamples, NoneFound,
		ExpectationsHold, QueueMapping, OneQueue, OutOfOrder, NotEvaluated,
	} {
		d := Diagnoses[code]
		if d.Title == "" || d.Text == "" || d.Title[len(d.Title)-1] == '.' || d.Text[len(d.Text)-1] != '.' {
			t.Errorf("%s: %+v", code, d)
		}
	}
}
