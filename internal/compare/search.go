package compare

import (
	"math"
	"slices"

	"bondrepro/reproducer/result"
)

// Bisection looks for the highest value that a condition holds at, between two ends, as RFC 2544 (26.1) looks for the throughput. A
// single run proves nothing: each value is tried until Confirm runs agree, and both ends of the answer are tried once more.
type Bisection struct {
	From, To   float64
	Resolution float64 // of the answer's upper end, a share: the interval is not wider
	Step       float64 // values are whole multiples of it; 0: any
	Confirm    int     // runs that must agree, at least 1
}

// Found is what a bisection found.
type Found struct {
	Answer     result.SearchAnswer
	Pass, Fail float64              // of which the answer says which there are
	Trials     []result.SearchTrial // by value
}

// Find looks, asking try once a run. An error of try ends it.
func (b Bisection) Find(try func(v float64) (holds bool, err error)) (Found, error) {
	s := &bisecting{Bisection: b, try: try, votes: map[float64]*votes{}}
	for {
		v, done := s.next()
		if done {
			return s.found(), nil
		}
		if err := s.decide(v); err != nil {
			return s.found(), err
		}
	}
}

// bisecting is a search under way. What it knows is votes; the rest is derived from them each time, so that a value that
// turns out otherwise when it is tried again needs no case of its own.
type bisecting struct {
	Bisection
	try   func(float64) (bool, error)
	votes map[float64]*votes
}

// votes are the runs of one value. rounds counts how often they were decided.
type votes struct{ held, failed, rounds int }

// holds tells whether most runs held; a tie does not.
func (v votes) holds() bool { return v.held > v.failed }

// bracket is the lowest value that fails, and the highest below it that holds.
func (s *bisecting) bracket() (pass, fail float64, hasPass, hasFail bool) {
	values := s.values()
	for _, v := range values {
		if !s.votes[v].holds() {
			fail, hasFail = v, true
			break
		}
		pass, hasPass = v, true
	}
	return pass, fail, hasPass, hasFail
}

func (s *bisecting) values() (all []float64) {
	for v := range s.votes {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}

// next is the value to try: both ends, then the middle, then what the answer rests on once more.
func (s *bisecting) next() (v float64, done bool) {
	for _, end := range []float64{s.To, s.From} {
		if s.votes[end] == nil {
			return end, false
		}
		if end == s.To && s.votes[end].holds() {
			return s.again(end)
		}
	}
	pass, fail, hasPass, hasFail := s.bracket()
	switch {
	case !hasPass:
		return s.again(fail)
	case !hasFail:
		return s.again(pass)
	}
	if middle := s.round((pass + fail) / 2); fail-pass > s.width(fail) && middle > pass && middle < fail {
		return middle, false
	}
	if v, done := s.again(pass); !done {
		return v, false
	}
	return s.again(fail)
}

// again is a value to be tried a second time, or done.
func (s *bisecting) again(v float64) (float64, bool) { return v, s.votes[v].rounds >= 2 }

func (s *bisecting) width(fail float64) float64 { return max(s.Step, s.Resolution*fail) }

func (s *bisecting) round(v float64) float64 {
	if s.Step == 0 {
		return v
	}
	return math.Round(v/s.Step) * s.Step
}

// decide tries a value until Confirm runs of this round agree.
func (s *bisecting) decide(v float64) error {
	all := s.votes[v]
	if all == nil {
		all = &votes{}
	}
	var round votes
	for round.held < s.Confirm && round.failed < s.Confirm {
		holds, err := s.try(v)
		if err != nil {
			return err
		}
		if holds {
			round.held++
		} else {
			round.failed++
		}
	}
	all.held, all.failed, all.rounds = all.held+round.held, all.failed+round.failed, all.rounds+1
	s.votes[v] = all
	return nil
}

func (s *bisecting) found() (f Found) {
	for _, v := range s.values() {
		x := s.votes[v]
		f.Trials = append(f.Trials, result.SearchTrial{Value: v, Held: x.held, Runs: x.held + x.failed, Holds: x.holds()})
	}
	pass, fail, hasPass, hasFail := s.bracket()
	switch {
	case !hasFail:
		f.Answer, f.Pass = result.SearchHolds, pass
	case !hasPass:
		f.Answer, f.Fail = result.SearchFails, fail
	default:
		f.Answer, f.Pass, f.Fail = result.SearchFound, pass, fail
	}
	return f
}
