package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bondrepro/bondctl"
	"bondrepro/internal/osrun"
	"bondrepro/scenarios"
)

// leave writes a journal as a command that was killed leaves it.
func leave(t *testing.T, dir, bond string, interfaces ...string) {
	t.Helper()
	j, err := bondctl.OpenJournals(dir, "bondrepro run")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var was []map[string]string
	for _, name := range interfaces {
		was = append(was, map[string]string{"name": name})
	}
	text, err := json.Marshal(map[string]any{"version": 1, "command": "bondrepro run", "pid": 4711, "bond": bond, "was": map[string]any{"interfaces": was}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, bond+".1.made.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Of what a command left, and of what one is at work on, only that is said: what an interface is then tells nothing.
func TestPortsThatAreNotWhatTheyWere(t *testing.T) {
	for _, c := range []struct {
		name          string
		ports         Ports
		before        func(t *testing.T, dir string)
		says, remedy  string
		about, others string // ports of which it is said, and is not
	}{
		{"left", Ports{Slaves: []string{"lo", "eth7"}}, func(t *testing.T, dir string) { leave(t, dir, "bondrepro0", "lo") },
			"ended too early (pid 4711)", "bondctl restore", "lo", "eth7"},
		{"left: its bond", Ports{Bond: "bondrepro0"}, func(t *testing.T, dir string) { leave(t, dir, "bondrepro0", "lo") },
			"ended too early (pid 4711)", "bondctl restore", "bondrepro0", ""},
		{"at work", Ports{Slaves: []string{"lo", "eth7"}}, func(t *testing.T, dir string) {
			j, err := bondctl.OpenJournals(dir, "bondctl up bond7")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { j.Close() })
		}, fmt.Sprintf("(pid %d)", os.Getpid()), "look once more when it has ended", "lo,eth7", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.ports.dir, c.ports.Scenario = filepath.Join(t.TempDir(), "journals"), scenarios.Default()
			c.before(t, c.ports.dir)
			checks, err := examinePorts(c.ports)
			if err != nil {
				t.Fatal(err)
			}
			of := map[string][]Check{}
			for _, check := range checks {
				of[check.Name] = append(of[check.Name], check)
			}
			for _, name := range strings.Split(c.about, ",") {
				if all := of[name]; len(all) != 1 || all[0].OK || !all[0].Needed || !strings.Contains(all[0].Found, c.says) || all[0].Remedy != c.remedy {
					t.Errorf("%s: %+v", name, all)
				}
			}
			if c.others != "" && (len(of[c.others]) == 0 || of[c.others][0].Code == "journal") {
				t.Errorf("%s: %+v", c.others, of[c.others])
			}
			if j := of["journal"]; len(j) != 1 || j[0].OK || !j[0].Needed || j[0].Remedy != c.remedy {
				t.Errorf("%+v", j)
			}
		})
	}
}

// A folder that nobody has made yet is as good as an empty one where it can be made.
func TestNothingLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lib", "journals")
	if c := journals(look(dir)); !c.OK || !c.Needed || c.Remedy != "" {
		t.Errorf("none: %+v", c)
	}
	j, err := bondctl.OpenJournals(dir, "a command")
	if err != nil {
		t.Fatal(err)
	}
	var at *bondctl.BusyError
	if err := look(dir); !errors.As(err, &at) || at.PID != os.Getpid() || at.Command != "a command" {
		t.Errorf("while it has the lock: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if c := journals(look(dir)); !c.OK {
		t.Errorf("an empty one: %+v", c)
	}
}

// Who can't read the journals is not told to take a port out of the bond of a run that was killed.
func TestAMasterOfUnknownOrigin(t *testing.T) {
	f, unreadable := eth1(), &unreadableError{"journals", syscall.EACCES}
	if c, is := hidden(f, unreadable); is {
		t.Errorf("without a master: %+v", c)
	}
	f.Master = "bondrepro0"
	if c, is := hidden(f, nil); is {
		t.Errorf("with journals: %+v", c)
	}
	if c, is := hidden(f, unreadable); !is || c.OK || !c.Needed || !strings.Contains(c.Found, "bondrepro0") || strings.Contains(c.Remedy, "nomaster") {
		t.Errorf("%t, %+v", is, c)
	}
}

// noLook asks the test's own process to look as another user.
const noLook = "BONDREPRO_TEST_LOOK"

// TestLookAsAnotherUser: who can't read or write the journals is told so, and nothing else.
func TestLookAsAnotherUser(t *testing.T) {
	if dir := os.Getenv(noLook); dir != "" {
		for _, set := range []func(int) error{syscall.Setgid, syscall.Setuid} {
			if err := set(1000); err != nil {
				t.Fatal(err)
			}
		}
		c := journals(look(dir))
		fmt.Printf("seen: %v %s\n", c.OK, c.Found)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("needs root, who may become another user")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp("", "journals")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	for _, c := range []struct {
		name    string
		prepare func(dir string) error
		want    string
	}{
		{"a folder of root's", func(dir string) error { return os.Mkdir(dir, 0o700) }, "false this user can't look whether a command left anything to be put back"},
		{"it can't be made", func(string) error { return nil }, "false this user can't look"},
		{"its own", func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 1000, 1000))
		}, "true no command left anything"},
		{"its own, with a lock of root's", func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600), os.Chown(dir, 1000, 1000))
		}, "lock: permission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(base, strings.ReplaceAll(c.name, " ", "-"))
			if err := errors.Join(os.Chmod(base, 0o755), c.prepare(dir)); err != nil {
				t.Fatal(err)
			}
			out, err := osrun.Run(t.Context(), osrun.Cmd{
				Path: self, Args: []string{"-test.run", "^TestLookAsAnotherUser$"}, Env: []string{noLook + "=" + dir}, Timeout: time.Minute,
			})
			if err != nil || !strings.Contains(string(out.Stdout), "seen: ") || !strings.Contains(string(out.Stdout), c.want) {
				t.Errorf("%v, %s, want %q", err, out.Stdout, c.want)
			}
		})
	}
}
