package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"bondrepro/scenarios"
)

// Base is what all arms begin with. Its scenario brings the cases.
type Base struct {
	Scenario scenarios.Scenario
	Kernel   string            // empty: that of the place
	Modules  map[string]string // NAME: FILE
}

// Arm is one configuration to measure.
type Arm struct {
	Name      string
	Settings  []string // KEY=VALUE, for the record
	Kernel    string
	Modules   map[string]string
	Scenarios []scenarios.Scenario // one a case, each validated; one where there is no case
}

// NamesKernel tells whether the arm has a kernel or a module of its own, and so needs a guest.
func (a Arm) NamesKernel() bool { return a.Kernel != "" || len(a.Modules) > 0 }

// samePlace tells whether one boot can measure both. What else a place is made of can't differ between arms (scenarios).
func (a Arm) samePlace(b Arm) bool { return a.Kernel == b.Kernel && maps.Equal(a.Modules, b.Modules) }

// ErrNoArms is that there is nothing to compare.
var ErrNoArms = errors.New("there are no arms to compare: give them as --a KEY=VALUE and --b KEY=VALUE, or name a scenario that has arms")

// Arms makes the arms of a comparison, in order; the scenario's own where variants are none. It returns the base with the scenario
// as it is compared. Errors are one sentence.
func Arms(base Base, variants scenarios.Variants) (Base, []Arm, error) {
	if len(variants) == 0 {
		variants = base.Scenario.Arms
	}
	if len(variants) == 0 {
		return base, nil, ErrNoArms
	}
	for _, v := range variants {
		if err := settable(base.Scenario, v); err != nil {
			return base, nil, fmt.Errorf("arm %s: %w", v.Name, err)
		}
	}
	rows := base.Scenario.Rows(variants)
	arms, err := base.arms(variants, rows)
	if err == nil {
		err = differ(arms)
	}
	if err != nil {
		return base, nil, err
	}
	if len(variants) == 1 { // measured and kept
		base.Scenario, err = base.Scenario.With(variants[0])
		base.Scenario.Cases = rows
	} else {
		base.Scenario, err = base.Scenario.Compared(variants)
	}
	return base, arms, err
}

// arms makes an arm of each variant, on these cases.
func (b Base) arms(variants, cases scenarios.Variants) (arms []Arm, err error) {
	for _, v := range variants {
		a := Arm{Name: v.Name, Settings: settings(v), Kernel: b.Kernel, Modules: maps.Clone(b.Modules)}
		if k := v.Kernel(); k != "" {
			a.Kernel = k
		}
		for name, file := range v.Modules() {
			if a.Modules == nil {
				a.Modules = map[string]string{}
			}
			a.Modules[name] = file
		}
		for _, c := range casesOr(cases) {
			sc, err := b.Scenario.With(c, v)
			if err == nil {
				err = sc.Validate()
			}
			if err != nil {
				return nil, fmt.Errorf("%s%w", inCase(v.Name, c.Name), err)
			}
			a.Scenarios = append(a.Scenarios, sc)
		}
		arms = append(arms, a)
	}
	return arms, nil
}

// settable tells what is wrong with a variant's paths and values, one by one.
func settable(sc scenarios.Scenario, v scenarios.Variant) error {
	for _, key := range slices.Sorted(maps.Keys(v.Set)) {
		if isPlaceKey(key) {
			continue
		}
		if err := sc.Set(key + "=" + plainText(v.Set[key])); err != nil {
			return err
		}
	}
	return nil
}

// casesOr are the cases, or one without a name.
func casesOr(cases scenarios.Variants) scenarios.Variants {
	if len(cases) == 0 {
		return scenarios.Variants{{}}
	}
	return cases
}

// settings are what a variant sets, as KEY=VALUE, in the order of the keys.
func settings(v scenarios.Variant) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(v.Set)) {
		all = append(all, key+"="+plainText(v.Set[key]))
	}
	return all
}

// plainText is a value as --set takes it.
func plainText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

func inCase(arm, name string) string {
	if name == "" {
		return "arm " + arm + ": "
	}
	return "arm " + arm + ", " + name + ": "
}

// differ refuses arms of which two are the same.
func differ(arms []Arm) error {
	for i, a := range arms {
		for _, b := range arms[:i] {
			if a.samePlace(b) && slices.EqualFunc(a.Scenarios, b.Scenarios, scenarios.Scenario.Equal) {
				return fmt.Errorf("the arms %s and %s do not differ: give one of them a setting that the other does not have, such as --b offload.tso=off", b.Name, a.Name)
			}
		}
	}
	return nil
}
