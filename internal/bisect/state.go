package bisect

import (
	"fmt"
	"slices"

	"bondrepro/reproducer/result"
)

// state is what the events amount to. It changes by apply alone, so a bisect that is resumed knows all that the killed one
// knew.
type state struct {
	params    Params
	points    map[string]*point
	visits    []visit
	boots     []boot
	lineRate  []float64
	diagnosis string // the bad end's
}

// point is what is known of a point.
type point struct {
	name   string
	prints []string // fingerprints: of what was made last; more where a build never comes out the same twice
	others int      // how many prints were replaced by later ones
	broken string   // why it can't be built; "" when it can
}

// visit is a point in a role, in the order in which they were begun.
type visit struct {
	id, role string
	buildS   float64
}

type boot struct {
	id, role string
	trial    result.Trial
}

func newState() *state { return &state{points: map[string]*point{}} }

func (s *state) apply(e event) {
	switch e.Kind {
	case evBegin:
		s.params = *e.Params
	case evMade, evBroken:
		p := s.point(e.ID)
		p.name = e.Name
		if e.Kind == evBroken {
			p.broken = e.Reason
		} else if !slices.Contains(p.prints, e.Fingerprint) {
			p.prints = append(p.kept(), e.Fingerprint)
		}
		if !s.visited(e.ID, e.Role) {
			s.visits = append(s.visits, visit{e.ID, e.Role, e.BuildS})
		}
	case evTrial:
		s.boots = append(s.boots, boot{e.ID, e.Role, *e.Trial})
		if s.lineRate == nil {
			s.lineRate = e.Trial.LineRate
		}
		if s.diagnosis == "" && e.Role == roleBadEnd && e.Trial.Verdict == result.Bad {
			s.diagnosis = e.Trial.Diagnosis
		}
	}
}

func (s *state) point(id string) *point {
	p := s.points[id]
	if p == nil {
		p = &point{}
		s.points[id] = p
	}
	return p
}

func (s *state) visited(id, role string) bool {
	return slices.ContainsFunc(s.visits, func(v visit) bool { return v.id == id && v.role == role })
}

// mostPrints is how many prints of a point are taken for outdated: a compiler or a kernel package was another then. A build
// with more of them never comes out the same twice, and its boots must count.
const mostPrints = 3

// kept are the prints that stay valid when the point comes out otherwise.
func (p *point) kept() []string {
	if p.others < mostPrints {
		p.others += len(p.prints)
		return nil
	}
	return p.prints
}

func isEnd(role string) bool { return role == roleBadEnd || role == roleGoodEnd }

// tally is what the boots of a point amount to, those of other points with the same image and modules among them.
type tally struct {
	bad, clean   int
	reused       int    // of both, boots of other points
	other        string // a BAD boot for another reason than the bad end's
	others       int    // how many of those there are
	failed, lost int    // the last boots on end that did not come up, or could not be told
	reason       string // of the last of those
}

// fresh are the roles whose clean boots must not have been known when the point was chosen: they count in that role
// only. A BAD boot counts in every role.
var fresh = []string{roleConfirm}

// tally counts for a role.
func (s *state) tally(id, role string) tally {
	var t tally
	prints := s.point(id).prints
	for _, b := range s.boots {
		if !slices.Contains(prints, b.trial.Fingerprint) {
			continue
		}
		apart := (slices.Contains(fresh, role) || slices.Contains(fresh, b.role)) && b.role != role
		counted := t.count(b.trial, s.diagnosis, apart)
		if counted && b.id != id {
			t.reused++
		}
	}
	return t
}

// count adds a boot, and tells whether it counts for a side. Of one that is apart only BAD counts.
func (t *tally) count(b result.Trial, diagnosis string, apart bool) bool {
	switch {
	case b.Failed:
		if !apart {
			t.failed++
			t.reason = b.Reason
		}
		return false
	case isOther(b, diagnosis):
		t.others++
		t.other = fmt.Sprintf("it is BAD for another reason (%s) than the bad end (%s): %s", b.Diagnosis, diagnosis, b.Reason)
		return false
	case b.Verdict == result.Bad:
		t.bad++
	case apart:
		return false
	case b.Verdict == result.Good:
		t.clean++
	default:
		t.lost++
		t.reason = b.Reason
		return false
	}
	t.failed, t.lost = 0, 0
	return true
}

const (
	// mostFailed boots on end that do not come up, mostLost that can't be told, and the point is skipped.
	mostFailed = 2
	mostLost   = 4
)

// The outcomes of a point.
const (
	undecided = ""
	isGood    = "good"
	isBad     = "bad"
	isSkipped = "skipped"
)

// outcome decides a point in a role, where need clean boots make it good, and says why.
func (s *state) outcome(id, role string, need int) (outcome, why string) {
	if why := s.point(id).broken; why != "" {
		return isSkipped, why
	}
	t := s.tally(id, role)
	switch {
	case t.bad > 0:
		return isBad, "it shows the symptom"
	case t.other != "":
		return isSkipped, t.other
	case t.failed >= mostFailed, t.lost >= mostLost:
		return isSkipped, t.reason
	case t.clean >= need:
		return isGood, fmt.Sprintf("%s without the symptom", result.Plural(t.clean, "boot"))
	}
	return undecided, ""
}

// rate is how many boots of the bad end showed the symptom, of how many that count, and whether that is known well
// enough. Only boots as the bad end count, as the plan that rests on it must not change later.
func (s *state) rate() (bad, counted int, known bool) {
	var t tally
	for _, b := range s.boots {
		if b.role == roleBadEnd {
			t.count(b.trial, s.diagnosis, false)
		}
	}
	counted = t.bad + t.clean
	known = t.bad >= endSymptoms || t.bad > 0 && counted >= endBoots
	return t.bad, counted, known
}

// isOther tells whether a BAD boot is so for another reason than the bad end.
func isOther(b result.Trial, diagnosis string) bool {
	return b.Verdict == result.Bad && (b.Diagnosis != diagnosis || b.Cause == result.CauseConfiguration)
}
