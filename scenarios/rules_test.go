package scenarios

import (
	"errors"
	"strings"
	"testing"
)

// Every range refuses what lies just outside it and, but for what other rules say, takes its ends.
func TestRanges(t *testing.T) {
	for _, b := range ranges {
		step := 1.0
		if b.max < 1 {
			step = 0.0001
		}
		for _, v := range []struct {
			value  float64
			refuse bool
		}{{b.min - step, true}, {b.min, false}, {b.max, false}, {b.max + step, true}} {
			s := Default()
			if err := s.Set(b.path + "=" + b.format(v.value)); err != nil {
				if !v.refuse { // a text form of its own may refuse it before the range does
					t.Errorf("%s: %v", b.path, err)
				}
				continue
			}
			if p := rangeRule(&s); (p != nil) != v.refuse || p != nil && p.path != b.path {
				t.Errorf("%s=%s: got %v", b.path, b.format(v.value), p)
			}
		}
	}
}

// Every choice takes each of its words and refuses others.
func TestChoices(t *testing.T) {
	for _, c := range choices {
		for _, word := range c.words {
			s := Default()
			if err := s.Set(c.path + "=" + word); err != nil {
				t.Error(err)
			} else if p := choiceRule(&s); p != nil {
				t.Errorf("%s=%s: %s", c.path, word, p.text)
			}
		}
		s := Default()
		if err := s.Set(c.path + "=nonsense"); err != nil {
			t.Error(err)
		} else if err := s.Validate(); err == nil || err.(*Error).Path != c.path {
			t.Errorf("%s=nonsense: got %v", c.path, err)
		}
	}
}

// A value that no file gave is named by its path alone.
func TestValidateWithoutFile(t *testing.T) {
	s := Default()
	s.Traffic.Senders = -1
	var e *Error
	if err := s.Validate(); !errors.As(err, &e) || err.Error() != "traffic.senders: -1 is not possible; allowed are 1 to 4096" {
		t.Error(err)
	}
}

// The zero Scenario is refused, and no rule panics on it.
func TestZeroIsRefused(t *testing.T) {
	if err := (Scenario{}).Validate(); err == nil {
		t.Error("taken")
	}
}

func TestControlArm(t *testing.T) {
	s := Default()
	for _, a := range []string{"control.traffic.senders=8", "control.offload.tso=off", "control.traffic.groups=[239.1.1.1]"} {
		if err := s.Set(a); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	arm, err := s.ControlArm()
	if err != nil {
		t.Fatal(err)
	}
	want := s
	want.Control, want.Orphan, want.Traffic.Senders = map[string]any{}, "netem", 8
	want.Offload, want.Traffic.Groups = map[string]string{"tso": "off"}, Groups{"239.1.1.1"}
	if !arm.Equal(want) {
		t.Errorf("got %#v", arm)
	}
	if len(s.Control) != 4 || len(s.Offload) != 0 || s.Orphan != "none" {
		t.Errorf("the scenario itself changed: %#v", s)
	}
	s.Control = map[string]any{"traffic.sendres": 8.0}
	if _, err := s.ControlArm(); err == nil || !strings.Contains(err.Error(), "did you mean senders?") {
		t.Error(err)
	}
}

// Both arms are measured in the place that was made for the first.
func TestControlKeepsThePlace(t *testing.T) {
	for _, c := range []string{
		"topology.slaves.count=4", "topology.slaves.queues=4", "topology.slaves={queues: 4}",
	} {
		s := Default()
		if err := s.Set("control." + c); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "both are measured in one place") {
			t.Errorf("%s: err = %v", c, err)
		}
	}
}
