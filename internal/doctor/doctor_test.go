package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"bondrepro/internal/netns"
)

func TestMain(m *testing.M) {
	if netns.Child() {
		netns.Main()
	}
	os.Exit(m.Run())
}

func TestOnlyWhatIsNeededMakesItUnhealthy(t *testing.T) {
	for _, c := range []struct {
		checks []Check
		want   bool
	}{
		{nil, true},
		{[]Check{{OK: false}, {OK: true, Needed: true}}, true},
		{[]Check{{OK: true}, {OK: false, Needed: true}}, false},
	} {
		if got := Healthy(c.checks); got != c.want {
			t.Errorf("%+v: %v", c.checks, got)
		}
	}
}

// A machine that can measure without a guest needs nothing for one.
func TestAGuestIsNeededWhereTheRunningKernelCannot(t *testing.T) {
	for withoutGuest, want := range map[bool]bool{false: false, true: true} {
		checks := needed([]Check{{Name: "netns testbed", OK: withoutGuest}, {Name: "QEMU", forGuest: true}}, withoutGuest)
		if got := Healthy(checks); got != want {
			t.Errorf("without QEMU, netns usable %v: healthy %v", withoutGuest, got)
		}
	}
}

// The check says what the testbed itself would.
func TestPrivateNamespaces(t *testing.T) {
	c := privateNamespaces(t.Context())
	err := netns.Usable(t.Context())
	if c.OK != (err == nil) || c.Needed || c.Found == "" {
		t.Errorf("%+v, but %v", c, err)
	}
	if err != nil && (c.Found != err.Error() || c.Remedy == "") {
		t.Errorf("%+v, but %v", c, err)
	}
}

func TestControl(t *testing.T) {
	for module, want := range map[string]bool{"sch_netem": true, "sch_other": false} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "sys/module", module), 0o755); err != nil {
			t.Fatal(err)
		}
		if c := control(netns.ReadRunning(root)); c.OK != want || c.Needed || (c.Remedy == "") != want {
			t.Errorf("%s: %+v", module, c)
		}
	}
}
