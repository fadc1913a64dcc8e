package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"bondrepro/internal/osrun"
	"bondrepro/internal/thread"
	"bondrepro/internal/traffic/workload"
	"bondrepro/reproducer/result"
	"bondrepro/scenarios"

	"golang.org/x/sys/unix"
)

// MeasureLoad measures a workload that goes over no bond, once, in network namespaces of its own, which it makes and
// leaves behind empty. It is called in a process that has the rights for that: PID 1 of a guest, or the child of
// package netns. A workload that ran into an error is a sample with a Failure; what can't be set up is an error, as
// Measure's are.
func MeasureLoad(ctx context.Context, job Job) (sample result.Sample, err error) {
	began := time.Now()
	spec, err := loadSpec(job.Scenario)
	if err != nil {
		return sample, err
	}
	e, err := openEnds(job)
	if err != nil {
		return sample, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	sample.Arm = job.Arm
	outcome, failed, err := e.run(ctx, job.Scenario, spec)
	switch {
	case ctx.Err() != nil:
		return sample, context.Cause(ctx)
	case err != nil:
		return sample, err
	case failed != nil:
		sample.Failure = fmt.Sprintf("the workload did not run through: %v", failed)
	default:
		sample.Metrics = outcome.Metrics()
	}
	sample.TookS = time.Since(began).Seconds()
	return sample, nil
}

// loadSpec is what the scenario asks of the workload.
func loadSpec(sc scenarios.Scenario) (workload.Spec, error) {
	l := sc.Load
	spec := workload.Spec{
		Kind: workload.Kind(sc.Workload), Protocol: workload.Protocol(l.Protocol), Connections: l.Connections, Write: l.Write,
		Request: l.Request, Response: l.Response, Payload: l.Payload, Rate: l.Rate,
		Duration: sc.Traffic.Duration.D(), Warmup: sc.Traffic.Warmup.D(), ClientCPUs: l.ClientCPUs, ServerCPUs: l.ServerCPUs,
	}
	if sc.Workload == scenarios.WorkloadExternal {
		spec.Kind = "" // the tool's
	}
	if l.Group != "" {
		group, err := netip.ParseAddr(l.Group)
		if err != nil {
			return spec, refuse("load.group: %v", err)
		}
		spec.Group = group
	}
	if err := spec.Check(); err != nil && sc.Workload != scenarios.WorkloadExternal {
		return spec, refuse("load.%v", err)
	}
	return spec, cmp.Or(checkCPUs("client_cpus", l.ClientCPUs), checkCPUs("server_cpus", l.ServerCPUs))
}

// checkCPUs refuses CPUs that no thread can run on here.
func checkCPUs(field string, cpus []int) error {
	return thread.Run(func() error {
		for _, cpu := range cpus {
			var set unix.CPUSet
			set.Set(cpu)
			if err := unix.SchedSetaffinity(0, &set); err != nil {
				return refuse("load.%s: no thread can run on CPU %d here: %v", field, cpu, err)
			}
		}
		return nil
	})
}

// run does the workload. failed is an error of the workload under way, err one of what it needs.
func (e *ends) run(ctx context.Context, sc scenarios.Scenario, spec workload.Spec) (o workload.Outcome, failed, err error) {
	if sc.Workload == scenarios.WorkloadExternal {
		return e.runTool(ctx, sc.Load.Tool, spec)
	}
	var server *workload.Server
	if err = e.server.do(func() (err error) { server, err = workload.Listen(spec, e.address); return err }); err != nil {
		return o, nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	var client *workload.Client
	if err = e.client.do(func() (err error) { client, err = server.Dial(ctx); return err }); err != nil {
		return o, nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	o, failed = client.Run(ctx)
	return o, failed, nil
}

// runTool does the workload by a program of others, each side in its namespace.
func (e *ends) runTool(ctx context.Context, name string, spec workload.Spec) (o workload.Outcome, failed, err error) {
	var tool *workload.Tool
	err = e.server.do(func() (err error) { tool, err = workload.ListenTool(ctx, name, spec, e.address); return err })
	switch {
	case errors.Is(err, osrun.ErrNotFound):
		return o, nil, &Fault{Class: Refused, What: name, Text: "load.tool: " + err.Error()}
	case err != nil:
		return o, nil, ofTool(err)
	}
	defer func() { err = errors.Join(err, tool.Close()) }()
	failed = e.client.do(func() (err error) { o, err = tool.Run(ctx); return err })
	return o, failed, nil
}

// ofTool sorts the errors of a tool that was not started: what it can't do is the user's to change.
func ofTool(err error) error {
	var process *osrun.Error
	var call *workload.Error
	if errors.As(err, &process) || errors.As(err, &call) {
		return err
	}
	return refuse("load: %v", err)
}

// LacksTool names the external tool that an error is about, which is not installed where it is to run; "" for other errors.
func LacksTool(err error) string {
	var fault *Fault
	if errors.As(err, &fault) && fault.Class == Refused {
		return fault.What
	}
	return ""
}
