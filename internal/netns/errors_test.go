package netns

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"bondrepro/internal/osrun"

	"golang.org/x/sys/unix"
)

func TestARefusedCloneSaysWhatForbidsIt(t *testing.T) {
	for _, c := range []struct {
		errno    syscall.Errno
		rootless bool
		says     string
		advice   string
	}{
		{syscall.EPERM, true, "make a user and a network namespace: fork/exec /proc/self/exe: operation not permitted", "kernel.unprivileged_userns_clone"},
		{syscall.ENOSPC, true, "no space left on device", "user.max_user_namespaces"},
		{syscall.ENOMEM, true, "cannot allocate memory", ""},
		{syscall.ENOSPC, false, "make a network namespace: fork/exec", "user.max_net_namespaces"},
	} {
		err := refusedClone(&osrun.Error{Command: "exe netns", ExitCode: -1,
			Err: &os.PathError{Op: "fork/exec", Path: "/proc/self/exe", Err: c.errno}}, c.rootless)
		if s := err.Error(); !strings.Contains(s, c.says) || !strings.Contains(s, c.advice) || strings.HasSuffix(s, ")") != (c.advice != "") {
			t.Errorf("%v, rootless %v: %s", c.errno, c.rootless, s)
		}
	}
}

func TestWhoseFaultADeathIs(t *testing.T) {
	for _, c := range []struct {
		end  error
		ours bool
	}{
		{&osrun.Error{Signal: syscall.SIGABRT, ExitCode: -1}, true},
		{&osrun.Error{ExitCode: 2}, true},
		{&osrun.Error{ExitCode: 1, Tail: "read packet socket: network is down"}, false},
		{&osrun.Error{Signal: syscall.SIGKILL, ExitCode: -1}, false},
		{nil, false},
	} {
		err := died(c.end, "panic: on purpose")
		if _, ours := err.(*PanicError); ours != c.ours {
			t.Errorf("%v: %T", c.end, err)
		}
		if c.end != nil && !strings.Contains(err.Error(), c.end.Error()) {
			t.Errorf("%v does not say %v", err, c.end)
		}
	}
}

// again runs one test of this binary anew in namespaces of its own, marked by a variable in its environment.
func again(t *testing.T, test, mark string, attr *syscall.SysProcAttr) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("changes namespaces of its own, which needs root")
	}
	out, err := osrun.Run(t.Context(), osrun.Cmd{
		Path: "/proc/self/exe", Args: []string{"-test.v", "-test.run", "^" + test + "$"}, Timeout: limit,
		Env: append(os.Environ(), mark+"=1"), Attr: attr,
	})
	if err != nil || !strings.Contains(string(out.Stdout), "--- PASS: "+test) {
		t.Errorf("%v\n%s", err, out.Stdout)
	}
}

// noNamespaces marks a run in a user namespace that may have no namespaces of its own.
const noNamespaces = "BONDREPRO_TEST_NETNS_FORBIDDEN"

// Where namespaces are forbidden the error says so.
func TestForbiddenNamespaces(t *testing.T) {
	again(t, "TestStartWhereForbidden", noNamespaces, &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
	})
}

func TestStartWhereForbidden(t *testing.T) {
	if os.Getenv(noNamespaces) == "" {
		t.Skip("runs in a user namespace of its own: TestForbiddenNamespaces does that")
	}
	for _, name := range []string{"max_net_namespaces", "max_user_namespaces"} {
		if err := os.WriteFile("/proc/sys/user/"+name, []byte("0"), 0); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Start(t.Context(), Config{Slaves: 1})
	if err == nil {
		t.Fatal("a place was made where namespaces are forbidden")
	}
	if s := err.Error(); !strings.Contains(s, "no space left on device") || !strings.Contains(s, countAdvice) {
		t.Error(s)
	}
}

// readOnly marks a run whose sysctls can't be written.
const readOnly = "BONDREPRO_TEST_NETNS_READ_ONLY"

// In a container that can't write sysctls a place is made all the same, with a note of what that means.
func TestReadOnlySysctls(t *testing.T) {
	again(t, "TestStartWhereReadOnly", readOnly, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS})
}

func TestStartWhereReadOnly(t *testing.T) {
	if os.Getenv(readOnly) == "" {
		t.Skip("runs in a mount namespace of its own: TestReadOnlySysctls does that")
	}
	const sysctls = "/proc/sys"
	for _, m := range []struct {
		source, target string
		flags          uintptr
	}{
		{"none", "/", unix.MS_REC | unix.MS_PRIVATE},
		{sysctls, sysctls, unix.MS_BIND},
		{"none", sysctls, unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY},
	} {
		if err := unix.Mount(m.source, m.target, "", m.flags, ""); err != nil {
			t.Fatalf("mount %s: %v", m.target, err)
		}
	}
	p, err := tryPlace(t, Config{Slaves: 1})
	if err != nil {
		// Only where the distribution sets rp_filter, which the far side can't do with.
		if !strings.Contains(err.Error(), "rp_filter=0: ") {
			t.Error(err)
		}
		return
	}
	notes := p.Notes()
	if len(notes) != 1 || !strings.Contains(notes[0], "IPv6 can't be turned off here") || !strings.Contains(notes[0], "read-only file system") {
		t.Errorf("notes: %q", notes)
	}
}
