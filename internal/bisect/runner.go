package bisect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bondrepro/reproducer"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"

	"github.com/google/renameio/v2"
)

// guests boots images in QEMU. It is the Runner of every bisect.
type guests struct {
	options reproducer.Options
	folder  string
}

// NewRunner boots in guests, with the options' scenario and QEMU. An image's own modules are added to the options'.
// Each whole Result is kept in folder; "" keeps none.
func NewRunner(o reproducer.Options, folder string) Runner {
	o.Testbed = "vm"
	o.Scenario.Runs = oneRun
	return &guests{options: o, folder: folder}
}

// oneRun: a boot is one trial, and one clean run makes it good. Two more are for a run that does not count and for a
// remainder, which takes two to be believed.
var oneRun = scenarios.Runs{SymptomRate: 1, Confidence: 1, Max: 3}

// with are the options for an image.
func (g *guests) with(image Image) reproducer.Options {
	o := g.options
	o.Kernel = image.Kernel
	if image.ModulesDir != "" {
		o.ModulesDir = image.ModulesDir
	}
	o.Modules = map[string]string{}
	maps.Copy(o.Modules, g.options.Modules)
	maps.Copy(o.Modules, image.Modules)
	return o
}

func (g *guests) Fingerprint(ctx context.Context, image Image) (string, error) {
	sum, err := reproducer.Fingerprint(ctx, g.with(image))
	var kernel *reproducer.KernelError
	if errors.As(err, &kernel) {
		return "", &BrokenError{Reason: kernel.Reason}
	}
	return sum, usage(err)
}

func (g *guests) Run(ctx context.Context, image Image, lineRate []float64) (result.Trial, error) {
	o := g.with(image)
	if len(lineRate) > 0 {
		o.Scenario.Topology.Slaves.LineRate = scenarios.LineRates{BitsPerSecond: lineRate}
	}
	start := time.Now()
	r, err := reproducer.Run(ctx, o)
	if err != nil {
		return result.Trial{}, usage(err)
	}
	t := trialOf(r)
	t.TookS = time.Since(start).Seconds()
	t.File, err = g.keep(r)
	return t, err
}

// usage makes the experiment's usage errors this room's.
func usage(err error) error {
	var wrong *reproducer.UsageError
	if errors.As(err, &wrong) {
		return &UsageError{Err: err}
	}
	return err
}

// trialOf is what one boot's Result says.
func trialOf(r result.Result) result.Trial {
	t := result.Trial{
		Verdict: r.Judgement.Verdict, Cause: r.Judgement.Cause, Reason: r.Judgement.Reason, LineRate: r.Config.LineRate,
	}
	if len(r.Judgement.Diagnosis) > 0 {
		t.Diagnosis = r.Judgement.Diagnosis[0].Code
	}
	test := r.Arms[0]
	t.Predicted = test.Preflight.Exceeds
	if len(test.Runs) == 0 {
		return t
	}
	last := test.Runs[len(test.Runs)-1]
	for _, arm := range r.Arms {
		for _, run := range arm.Runs {
			t.Failed = t.Failed || run.Recording.Failure != ""
		}
	}
	t.Metrics = map[string]float64{}
	for _, name := range result.TrialMetrics {
		if v, ok := last.Judgement.Metrics[name]; ok {
			t.Metrics[name] = v
		}
	}
	return t
}

// keep writes the whole Result to a file of its own.
func (g *guests) keep(r result.Result) (string, error) {
	if g.folder == "" {
		return "", nil
	}
	if err := os.MkdirAll(g.folder, 0o755); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := result.Encode(&b, r); err != nil {
		return "", err
	}
	name := filepath.Join(g.folder, fmt.Sprintf("%s.json", strings.ReplaceAll(r.Created.Format("20060102-150405.000000"), ".", "-")))
	if err := renameio.WriteFile(name, b.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("keep a result: %w", err)
	}
	return name, nil
}
