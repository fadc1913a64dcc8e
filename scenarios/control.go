package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ControlArm is s with its Control applied and emptied: the arm that must be BAD. It is not validated here;
// Validate of s does that.
func (s Scenario) ControlArm() (Scenario, error) {
	arm, p := s.controlArm()
	if p != nil {
		return Scenario{}, p.error(s.from)
	}
	return arm, nil
}

func (s *Scenario) controlArm() (Scenario, *problem) {
	arm := *s
	arm.Control = map[string]any{}
	for _, path := range sortedKeys(s.Control) {
		// JSON is YAML, and what Control holds is JSON's.
		value, err := json.Marshal(s.Control[path])
		if err == nil {
			err = arm.Set(path + "=" + string(value))
		}
		if err != nil {
			return Scenario{}, bad("control."+path, "the control can't be set: %s", sentence(err))
		}
	}
	arm.Control = map[string]any{}
	return arm, nil
}

// sentence is an error's message without its place.
func sentence(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	if e.Path == "" {
		return e.Message
	}
	return fmt.Sprintf("%s %s", e.Path, e.Message)
}
