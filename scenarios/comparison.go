package scenarios

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"unicode"
)

// With is s with variants applied in order (a case, then an arm), as one measurement of it: without arms, cases and
// sweep. What a variant says of its place (Kernel, Modules) is left to the caller. It is not validated; Validate of s
// does that for its own arms and cases.
func (s Scenario) With(variants ...Variant) (Scenario, error) {
	one, p := s.with("", variants...)
	if p != nil {
		return Scenario{}, p.error(s.from)
	}
	return one, nil
}

// with is With; a problem is below the field at path.
func (s *Scenario) with(path string, variants ...Variant) (Scenario, *problem) {
	one := *s
	one.Arms, one.Cases, one.Sweep = Variants{}, Variants{}, Sweep{}
	one.Expect, one.Accept, one.Control, one.Runs = []string{}, []string{}, map[string]any{}, Default().Runs
	for _, v := range variants {
		for _, key := range sortedKeys(v.Set) {
			if isPlace(key) {
				continue
			}
			value, err := json.Marshal(v.Set[key]) // JSON is YAML
			if err == nil {
				err = one.Set(key + "=" + string(value))
			}
			if err != nil {
				return Scenario{}, bad(join(path, v.Name+"."+key), "can't be set: %s", sentence(err))
			}
		}
	}
	return one, nil
}

// Each is every arm on every case, as With makes them; none where there are neither arms nor cases. It is of a scenario that
// is valid.
func (s Scenario) Each() (all []Scenario) {
	arms, cases := s.Arms, s.Cases
	if len(arms)+len(cases) == 0 {
		return nil
	}
	if len(arms) == 0 {
		arms = Variants{{}}
	}
	if len(cases) == 0 {
		cases = Variants{{}}
	}
	for _, c := range cases {
		for _, arm := range arms {
			if one, p := s.with("", c, arm); p == nil {
				all = append(all, one)
			}
		}
	}
	return all
}

// Compared is s as a comparison of these arms in place of its own, without what makes a verdict. Its own arms become rows:
// each case is measured under each of them, unless the new arms set what they set. Errors are *Error.
func (s Scenario) Compared(arms Variants) (Scenario, error) {
	if !s.Arms.touch(arms) {
		s.Cases = s.Arms.times(s.Cases)
	}
	s.Arms = arms
	s.Expect, s.Accept, s.Control, s.Runs = []string{}, []string{}, map[string]any{}, Default().Runs
	if err := s.Validate(); err != nil {
		return Scenario{}, err
	}
	return s, nil
}

// touch tells whether some of v set what some of others do, or name places.
func (v Variants) touch(others Variants) bool {
	for _, x := range v {
		for key := range x.Set {
			for _, other := range others {
				if isPlace(key) || overlap(other.Set, key) != "" {
					return true
				}
			}
		}
	}
	return false
}

// times is each case under each of v: CASE, NAME.
func (v Variants) times(cases Variants) Variants {
	if len(v) == 0 {
		return cases
	}
	if len(cases) == 0 {
		return v
	}
	product := Variants{}
	for _, c := range cases {
		for _, x := range v {
			both := Variant{Name: c.Name + ", " + x.Name, Set: maps.Clone(c.Set)}
			maps.Copy(both.Set, x.Set)
			product = append(product, both)
		}
	}
	return product
}

// limits of a comparison.
const (
	maxVariants  = 64
	maxSwept     = 2
	maxSweptSize = 64
	maxPoints    = 256 // arms on cases, or points of a sweep
)

// brokenComparison is what is wrong with arms, cases and sweep: each arm on each case must be something that can be
// measured, and something else than the other arms.
func (s *Scenario) brokenComparison() *problem {
	for _, list := range []struct {
		path     string
		variants Variants
		least    int
		places   bool // may name kernels and modules
	}{{"arms", s.Arms, 2, true}, {"cases", s.Cases, 1, false}} {
		if p := brokenVariants(list.path, list.variants, list.least, list.places); p != nil {
			return p
		}
	}
	if p := s.brokenCross(); p != nil {
		return p
	}
	return s.brokenSweep()
}

// brokenVariants is what is wrong with names and keys.
func brokenVariants(path string, list Variants, least int, places bool) *problem {
	if n := len(list); n > 0 && n < least || n > maxVariants {
		return bad(path, "there are %d; allowed are %d to %d", n, least, maxVariants)
	}
	seen := map[string]bool{}
	for _, v := range list {
		at := path + "." + v.Name
		if v.Name == "" || len(v.Name) > 64 || strings.TrimSpace(v.Name) != v.Name || strings.ContainsFunc(v.Name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return bad(path, "%q is not a name; write up to 64 printable characters", v.Name)
		}
		if seen[v.Name] {
			return bad(path, "%s is there twice", v.Name)
		}
		seen[v.Name] = true
		for _, key := range sortedKeys(v.Set) {
			text, isText := v.Set[key].(string)
			group, _, _ := strings.Cut(key, ".")
			switch {
			case isPlace(key) && !places:
				return bad(at+"."+key, "only an arm can name a kernel or a module, since it says where the arm is measured")
			case isPlace(key) && (!isText || text == "" || key == modulePrefix):
				return bad(at+"."+key, "names no file; write it as --kernel or --module take it, such as kernel: deb:linux-image-cloud-amd64 or module.bonding: ./bonding.ko")
			case group == "arms" || group == "cases" || group == "sweep" || group == "name" || group == "summary":
				return bad(at+"."+key, "can't be set here")
			}
		}
	}
	return nil
}

// brokenCross is what is wrong with an arm on a case.
func (s *Scenario) brokenCross() *problem {
	if len(s.Arms)+len(s.Cases) == 0 {
		return nil
	}
	cases, arms := s.Cases, s.Arms
	if len(cases) == 0 {
		cases = Variants{{}}
	}
	if len(arms) == 0 {
		arms = Variants{{}}
	}
	if n := len(arms) * len(cases); n > maxPoints {
		return bad("cases", "%d arms on %d cases are %d measurements; allowed are %d", len(arms), len(cases), n, maxPoints).also("arms")
	}
	for _, c := range cases {
		var before []Scenario
		for _, arm := range arms {
			for _, key := range sortedKeys(c.Set) {
				if other := overlap(arm.Set, key); other != "" {
					return bad("cases."+c.Name+"."+key, "the arm %s sets %s, too; a case is what all arms have in common", arm.Name, other).also("arms")
				}
			}
			one, p := s.with("cases", c)
			if p != nil {
				return p
			}
			if one, p = one.with("arms", arm); p != nil {
				return p
			}
			if p := s.brokenOne(&one, c, arm); p != nil {
				return p
			}
			for i, other := range before {
				if other.Equal(one) && samePlace(arms[i], arm) {
					return bad("arms."+arm.Name, "does not differ from %s: both are measured in the same way", arms[i].Name).also("arms")
				}
			}
			before = append(before, one)
		}
	}
	return nil
}

// brokenOne is what is wrong with one arm on one case.
func (s *Scenario) brokenOne(one *Scenario, c, arm Variant) *problem {
	at := "arms." + arm.Name
	if arm.Name == "" {
		at = "cases." + c.Name
	}
	if p := one.broken(); p != nil {
		where := ""
		if c.Name != "" && arm.Name != "" {
			where = " on " + c.Name
		}
		return bad(at, "is not possible%s: %s %s", where, p.path, p.text).also("cases." + c.Name)
	}
	for _, f := range placeFields {
		if f.value(s) != f.value(one) {
			return bad(at, "%s can't differ between arms or cases: all are measured in one place", f.what).also("cases." + c.Name)
		}
	}
	return nil
}

// overlap is the key of set that sets what key sets, too, or a part of it; empty: none does.
func overlap(set map[string]any, key string) string {
	for _, other := range sortedKeys(set) {
		if key == other || strings.HasPrefix(key, other+".") || strings.HasPrefix(other, key+".") {
			return other
		}
	}
	return ""
}

// samePlace tells whether two arms are measured in one place.
func samePlace(a, b Variant) bool {
	return a.Kernel() == b.Kernel() && reflect.DeepEqual(a.Modules(), b.Modules())
}

// brokenSweep is what is wrong with a sweep: each value must be one that its field can have beside the first values of
// the other.
func (s *Scenario) brokenSweep() *problem {
	if n := len(s.Sweep); n > maxSwept {
		return bad("sweep", "has %d parameters; allowed are 1 or %d", n, maxSwept)
	}
	points := 1
	for _, x := range s.Sweep {
		points *= len(x.Values)
		at := "sweep." + x.Path
		if n := len(x.Values); n < 2 || n > maxSweptSize {
			return bad(at, "has %d values; allowed are 2 to %d", n, maxSweptSize)
		}
		if isPlace(x.Path) || brokenVariants("sweep", Variants{{Name: "x", Set: map[string]any{x.Path: x.Values[0]}}}, 1, false) != nil {
			return bad(at, "can't be swept")
		}
	}
	if points > maxPoints {
		return bad("sweep", "has %d points; allowed are %d", points, maxPoints)
	}
	return s.eachSwept(nil, s.Sweep)
}

// eachSwept tries every combination of values.
func (s *Scenario) eachSwept(set []Variant, left Sweep) *problem {
	if len(left) == 0 {
		if len(set) == 0 {
			return nil
		}
		one, p := s.with("", set...)
		if p != nil {
			p.path = "sweep." + strings.TrimPrefix(p.path, ".")
			return p
		}
		if p := one.broken(); p != nil {
			return bad("sweep", "%s is not possible: %s %s", combination(set), p.path, p.text)
		}
		return nil
	}
	for _, value := range left[0].Values {
		if p := s.eachSwept(append(set[:len(set):len(set)], Variant{Set: map[string]any{left[0].Path: value}}), left[1:]); p != nil {
			return p
		}
	}
	return nil
}

// combination is the values of one point of a sweep, in words.
func combination(set []Variant) string {
	var words []string
	for _, v := range set {
		for _, key := range sortedKeys(v.Set) {
			words = append(words, fmt.Sprintf("%s=%v", key, v.Set[key]))
		}
	}
	return strings.Join(words, " ")
}
