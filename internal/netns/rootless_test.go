package netns

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"bondrepro/internal/measure"
	"bondrepro/internal/osrun"
	"bondrepro/scenarios"
)

// asNobody marks the run of the tests below as a user without rights.
const asNobody = "BONDREPRO_TEST_NETNS_NOBODY"

// nobody is a user that owns nothing.
const nobody = 65534

// The tests that need no root pass without it.
func TestAsNobody(t *testing.T) {
	if os.Getenv(asNobody) != "" {
		t.Skip("is nobody")
	}
	if os.Geteuid() != 0 {
		t.Skip("becomes nobody, which needs root; the other tests ran without")
	}
	if why := forbidden(); why != "" {
		t.Skip("this machine forbids users namespaces: " + why)
	}
	out, err := osrun.Run(t.Context(), osrun.Cmd{
		Path: "/proc/self/exe", Timeout: 2 * limit, Dir: "/",
		Args: []string{"-test.v", "-test.run", "^(TestEveryThread|TestNothingIsLeft|TestAKilled|TestAPanic|TestACancelled|TestSIGKILL|TestNobody)"},
		Env:  append(os.Environ(), asNobody+"=1"),
		Attr: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}},
	})
	if err != nil || !strings.Contains(string(out.Stdout), "--- PASS: TestNobodyIsRootInside") || !strings.Contains(string(out.Stdout), "--- PASS: TestNobodySamples") {
		t.Errorf("%v\n%s", err, out.Stdout)
	}
}

// forbidden names the sysctl that keeps users from making namespaces; empty when none does.
func forbidden() string {
	for name, forbids := range map[string]string{
		"user/max_user_namespaces": "0", "kernel/unprivileged_userns_clone": "0", "kernel/apparmor_restrict_unprivileged_userns": "1",
	} {
		if b, err := os.ReadFile("/proc/sys/" + name); err == nil && strings.TrimSpace(string(b)) == forbids {
			return name + "=" + forbids
		}
	}
	return ""
}

// In its user namespace nobody is root, and is told what forbids it where it can't be.
func TestNobodyIsRootInside(t *testing.T) {
	if os.Getenv(asNobody) == "" {
		t.Skip("runs as nobody: TestAsNobody does that")
	}
	p := place(t, Config{Slaves: 1, Queues: 4})
	for file, want := range map[string]string{"uid_map": fmt.Sprint(nobody), "gid_map": fmt.Sprint(nobody)} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.Pid(), file))
		if f := strings.Fields(string(b)); err != nil || len(f) != 3 || f[0] != "0" || f[1] != want || f[2] != "1" {
			t.Errorf("%s: %q, %v", file, b, err)
		}
	}
}

// Nobody can measure a workload, too: a sample's namespaces are in his own.
func TestNobodySamples(t *testing.T) {
	if os.Getenv(asNobody) == "" {
		t.Skip("runs as nobody: TestAsNobody does that")
	}
	p := place(t, Config{})
	sc, err := scenarios.Parse("test.yaml", []byte("workload: stream\ntopology: {kind: veth}\noffload: {tso: off}\nsysctl: {net.ipv4.tcp_sack: 0}\ntraffic: {duration: 200ms, warmup: 50ms}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Sample(t.Context(), measure.Job{Arm: "a", Scenario: sc})
	if err != nil || s.Failure != "" || s.Arm != "a" || s.Metrics["throughput"] <= 0 {
		t.Errorf("got %+v, %v", s, err)
	}
}
