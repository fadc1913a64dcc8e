package bisect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// line is a history of points 0 to n-1, of which those from culprit on show the symptom (find-fix: those before it).
type line struct {
	n, culprit int
	fix        bool
	broken     map[int]string // points that do not build
	print      func(i int) string
	made       []string
	closed     int
}

func (l *line) Left(_ context.Context, m Marks) ([]string, error) {
	low, high := -1, number(m.New)
	for _, id := range m.Old {
		low = max(low, number(id))
	}
	var ids []string
	for away := 0; len(ids) < high-low-1; away++ { // the middle first, then outwards
		middle := (low + high) / 2
		if middle+away < high {
			ids = append(ids, strconv.Itoa(middle+away))
		}
		if away > 0 && middle-away > low {
			ids = append(ids, strconv.Itoa(middle-away))
		}
	}
	return ids, nil
}

func (l *line) Before(_ context.Context, id string) ([]string, error) {
	if number(id) == 0 {
		return nil, nil
	}
	return []string{strconv.Itoa(number(id) - 1)}, nil
}

func (l *line) Make(_ context.Context, id string) (Image, error) {
	l.made = append(l.made, id)
	if why := l.broken[number(id)]; why != "" {
		return Image{}, &BrokenError{Reason: why}
	}
	return Image{Kernel: id}, nil
}

func (l *line) Describe(_ context.Context, id string) (string, error) { return "point " + id, nil }

func (l *line) Close(context.Context) error { l.closed++; return nil }

func number(id string) int {
	i, err := strconv.Atoi(id)
	if err != nil {
		panic(err)
	}
	return i
}

// boots shows the symptom in a share rate of the boots of bad points.
type boots struct {
	line  *line
	rate  float64
	rand  *rand.Rand
	ran   map[string]int
	trial func(id string) *result.Trial // of points that behave otherwise; nil for those that do not
}

func (b *boots) Fingerprint(_ context.Context, image Image) (string, error) {
	if b.line.print != nil {
		return b.line.print(number(image.Kernel)), nil
	}
	return "print of " + image.Kernel, nil
}

const symptom = result.BackPressureLost

func (b *boots) Run(_ context.Context, image Image, _ []float64) (result.Trial, error) {
	if b.ran != nil {
		b.ran[image.Kernel]++
	}
	if b.trial != nil {
		if t := b.trial(image.Kernel); t != nil {
			return *t, nil
		}
	}
	bad := (number(image.Kernel) >= b.line.culprit) != b.line.fix
	if bad && b.rand.Float64() < b.rate {
		return result.Trial{Verdict: result.Bad, Cause: result.CauseKernel, Diagnosis: symptom, LineRate: []float64{1e8}}, nil
	}
	return result.Trial{Verdict: result.Good, Diagnosis: result.NoneFound, LineRate: []float64{1e8}}, nil
}

// start is an engine over the line, its ends the first and the last point.
func start(l *line, b *boots, confidence float64) *engine {
	p := Params{Kind: "fake", Scenario: scenarios.Scenario{Name: "fake"}, Good: "0", Bad: strconv.Itoa(l.n - 1), Confidence: confidence, FindFix: l.fix}
	if l.fix {
		p.Good, p.Bad = p.Bad, p.Good
	}
	e := &engine{space: l, runner: b, state: newState(), record: func(event) error { return nil }, log: func(event) {}, now: func() time.Time { return time.Time{} }}
	if err := e.add(event{Kind: evBegin, Params: &p}); err != nil {
		panic(fmt.Sprint(err))
	}
	return e
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
