package measure

import (
	"maps"
	"os"
	"strings"
	"testing"
)

// A sysctl is set, read back, and put back; one that is nowhere is told and nothing else.
func TestSysctls(t *testing.T) {
	needRoot(t)
	s, err := newSpace()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	err = s.do(func() error {
		read := func() string {
			text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_rmem")
			if err != nil {
				t.Error(err)
			}
			return strings.Join(strings.Fields(string(text)), " ")
		}
		before := read()
		undo, missing, err := applySysctls(map[string]string{"net.ipv4.tcp_rmem": "4096 65536 65536", "net.none": "1"})
		if err != nil || read() != "4096 65536 65536" || !maps.Equal(missing, map[string]string{"net.none": "1"}) {
			t.Errorf("%s, missing %v, %v", read(), missing, err)
		}
		if err := undo(); err != nil || read() != before {
			t.Errorf("%s, and was %s (%v)", read(), before, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Where a sysctl may be set is a rule of its own: a namespace's anywhere, the machine's in a guest, none on real ports.
func TestSysctlsOfAPlace(t *testing.T) {
	for _, c := range []struct {
		name string
		job  Job
		want string
	}{
		{"net.none", Job{}, "can be set with --testbed vm"},
		{"net/none", Job{}, "can be set with --testbed vm"},
		{"vm.swappiness", Job{}, "it is the whole machine's"},
		{"vm.none", Job{Machine: true}, "this kernel has no such sysctl"},
		{"net.ipv4.ip_forward", Job{Ports: &Ports{}}, "not ours alone"},
	} {
		c.job.Scenario.Sysctl = map[string]string{c.name: "1"}
		undo, err := sysctlsHere(c.job)
		if err == nil || !strings.Contains(err.Error(), "sysctl."+c.name+": ") || !strings.Contains(err.Error(), c.want) || AsFault(err).Class != Refused {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if err := undo(); err != nil {
			t.Error(err)
		}
	}
}
