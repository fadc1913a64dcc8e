package compare

import (
	"context"
	"errors"
	"time"

	"bondrepro/reproducer"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// Sessions is the Bench of package reproducer: each place is a Session with these options, but for the arm's kernel and modules.
// Options.Scenario is the one that the arms were made of.
type Sessions struct {
	Options reproducer.Options
}

// NewSessions measures all arms in guests where any of them needs one: places of two kinds could not be compared.
func NewSessions(o reproducer.Options, arms []Arm) *Sessions {
	for _, a := range arms {
		if a.NamesKernel() && (o.Testbed == "" || o.Testbed == "auto") {
			o.Testbed = "vm"
		}
	}
	return &Sessions{Options: o}
}

// Open is described at Bench.
func (s *Sessions) Open(ctx context.Context, arm Arm) (Place, error) {
	o := s.Options
	o.Kernel, o.Modules = arm.Kernel, arm.Modules
	session, err := reproducer.Open(ctx, o)
	if err != nil {
		if session != nil {
			err = errors.Join(err, session.Close())
		}
		return nil, err
	}
	return sessionPlace{session}, nil
}

// sessionPlace is a Session as a Place.
type sessionPlace struct{ session *reproducer.Session }

func (p sessionPlace) Sample(ctx context.Context, arm string, sc scenarios.Scenario) (result.Sample, error) {
	return p.session.Sample(ctx, arm, sc)
}

func (p sessionPlace) Preflight(sc scenarios.Scenario) result.Preflight {
	if !sc.OnBond() {
		return result.Preflight{}
	}
	return p.session.Preflight(sc)
}

func (p sessionPlace) CatchUp(sc scenarios.Scenario) time.Duration {
	return p.session.CatchUp(sc)
}

func (p sessionPlace) Facts() Facts {
	host, guest := p.session.Facts()
	return Facts{Testbed: p.session.Config().Testbed, Host: host, Guest: guest, LineRate: p.session.Config().LineRate}
}

func (p sessionPlace) Close() error { return p.session.Close() }
