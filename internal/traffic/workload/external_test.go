package workload

import (
	"context"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bondrepro/internal/osrun"
)

func TestToolsMeasureInTheCallersNamespace(t *testing.T) {
	for name, spec := range map[string]Spec{
		"iperf3":   {Connections: 2, Write: 8000, Duration: time.Second},
		"iperf":    {Connections: 2, Write: 8000, Duration: time.Second},
		"sockperf": {Request: 64, Response: 64, Duration: time.Second},
		"tbench":   {Connections: 2, Duration: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := findTool(name, spec)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := osrun.Look(found.server); err != nil {
				t.Skipf("%s is not installed: package %s", found.server, found.pkg)
			}
			spec.ServerCPUs = []int{0}
			inNamespace(t, func() {
				s, err := ListenTool(t.Context(), name, spec, loopback)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				var set unix.CPUSet
				if err := unix.SchedGetaffinity(s.process.Pid(), &set); err != nil || set.Count() != 1 || !set.IsSet(0) {
					t.Errorf("the server may run on %d CPUs (%v)", set.Count(), err)
				}
				o, err := s.Run(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				if o.Throughput <= 0 || o.Bytes == 0 || o.Tool != name {
					t.Errorf("outcome %+v", o)
				}
				t.Log(o, o.Metrics())
			})
		})
	}
}

func TestAToolThatIsNotInstalledIsNamedWithItsPackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := ListenTool(t.Context(), "tbench", Spec{Duration: 2 * time.Second}, loopback)
	if err == nil || !strings.HasPrefix(err.Error(), "tbench_srv is not installed; install Debian's package dbench") {
		t.Errorf("error %v", err)
	}
}
