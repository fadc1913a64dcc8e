package netns

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"bondrepro/internal/osrun"
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
		err := died(c.end)
		if _, ours := err.(*PanicError); ours != c.ours {
			t.Errorf("%v: %T", c.end, err)
		}
		if c.end != nil && !strings.Contains(err.Error(), c.end.Error()) {
			t.Errorf("%v does not say %v", err, c.end)
		}
	}
}

// Where user namespaces are forbidden the error says so. The sysctl is of the namespace that is given up: ours stays.
func TestForbiddenUserNamespaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("forbids itself namespaces, which needs root")
	}
	out, err := osrun.Run(t.Context(), osrun.Cmd{
		Path: "/proc/self/exe", Timeout: limit, Env: append(os.Environ(), noNamespaces+"=1"),
		Args: []string{"-test.v", "-test.run", "^TestStartWhereForbidden$"},
		Attr: &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
		},
	})
	if err != nil || !strings.Contains(string(out.Stdout), "--- PASS: TestStartWhereForbidden") {
		t.Errorf("%v\n%s", err, out.Stdout)
	}
}

// noNamespaces marks a run in a user namespace that may have no namespaces of its own.
const noNamespaces = "BONDREPRO_TEST_NETNS_FORBIDDEN"

func TestStartWhereForbidden(t *testing.T) {
	if os.Getenv(noNamespaces) == "" {
		t.Skip("runs in a user namespace of its own: TestForbiddenUserNamespaces does that")
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
