// Package vmtest runs tests inside a guest: the package's own test binary is the guest's init, and is started
// there once more with the tests' names. Tests that need a bond, netem or a qdisc the build machine lacks run so.
package vmtest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/guest"
	"bondrepro/internal/guestproto"
	"bondrepro/internal/initramfs"
	"bondrepro/internal/kernel"
	"bondrepro/internal/osrun"
	"bondrepro/internal/vm"
)

// Kernel is what guests boot when the environment variable BONDREPRO_KERNEL names no other.
const Kernel = "deb:linux-image-cloud-amd64"

// inGuest marks the tests' process in the guest.
const inGuest = "BONDREPRO_IN_GUEST"

const (
	// patience is how long the tests in a guest may take unless Guest.Patience says otherwise: several times what they do.
	patience = 4 * time.Minute
	// bootTime comes on top of it.
	bootTime = time.Minute
	// initPath is where the test binary lies in the guest.
	initPath = "/init"
)

// Main stands in for testing's own main: it lets the test binary be a guest's init. Call it from TestMain.
func Main(m *testing.M) {
	if guest.Booted() {
		guest.Main(guest.Handlers())
	}
	os.Exit(m.Run())
}

// Inside tells whether this process runs in a guest that Run booted.
func Inside() bool { return os.Getenv(inGuest) != "" }

// Guest is a machine to run tests in.
type Guest struct {
	Modules []string // by name; what they depend on comes along. A module the kernel lacks fails the test
	Env     []string
	Files   []initramfs.Entry
	NICs    int
	CPUs    int               // 0: as vm.Config
	Queues  int               // of each NIC, as vm.Config
	Swap    map[string]string // module name: a file that is loaded instead of the kernel's
	// LinkSpeed, Mbit/s, is what the NICs claim; LineRate, bits/s, what the lines of all of them take; Cables join NICs for
	// slow protocols, as vm.Config.
	LinkSpeed int
	LineRate  float64
	Cables    [][2]int

	Patience time.Duration // how long the tests may take; 0: four minutes
}

// Run boots the guest and runs the tests of this binary whose names match the pattern there. Their output goes
// to t's log; one that fails there, or a pattern that matches none, fails t.
//
// Tests that do not end are run once more, in a new guest: under TCG a processor of a guest was seen to stand still in the
// kernel, once in some hundred boots. A test of ours that hangs does so again.
func (g Guest) Run(t *testing.T, pattern string) {
	t.Helper()
	if testing.Short() {
		t.Skip("boots a guest: left out by -short")
	}
	output, code, err := g.once(t, pattern)
	if err != nil && errors.Is(err, context.DeadlineExceeded) || strings.Contains(output, timedOut) {
		relay(t, output)
		t.Log("the tests in the guest did not end: once more")
		output, code, err = g.once(t, pattern)
	}
	relay(t, output)
	switch {
	case err != nil:
		t.Fatalf("the tests in the guest: %v", err)
	case code != 0:
		t.Fatalf("the tests in the guest ended with exit code %d", code)
	case !strings.Contains(output, "--- PASS"):
		t.Fatalf("no test of the guest passed: does %q match none?", pattern)
	}
}

// timedOut is what package testing says of tests that took too long.
const timedOut = "panic: test timed out after"

// once boots and runs the tests.
func (g Guest) once(t *testing.T, pattern string) (output string, code int, err error) {
	t.Helper()
	limit := cmp.Or(g.Patience, patience)
	ctx, cancel := context.WithTimeout(context.Background(), limit+bootTime)
	defer cancel()
	m := g.boot(ctx, t)
	defer m.Close()
	var out strings.Builder
	code, err = m.Exec(ctx, guestproto.Exec{
		Path: initPath,
		Args: []string{"-test.run", pattern, "-test.v", "-test.count=1", "-test.timeout=" + limit.String()},
		Env:  append([]string{inGuest + "=1", "PATH=/bin", "HOME=/tmp"}, g.Env...),
	}, &out)
	return out.String(), code, err
}

func (g Guest) boot(ctx context.Context, t *testing.T) *vm.Machine {
	t.Helper()
	spec := os.Getenv("BONDREPRO_KERNEL")
	if spec == "" {
		spec = Kernel
	}
	k, err := kernel.Open(ctx, spec, kernel.Options{})
	if err != nil {
		t.Fatalf("no kernel to boot (make test fetches one): %v", err)
	}
	modules, err := k.Resolve(append([]string{"virtio_pci", "virtio_net"}, g.Modules...), g.Swap)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m, err := vm.Start(ctx, vm.Config{
		Image: k.Image, Self: self, Modules: modules, ModuleParams: map[string]string{"bonding": "max_bonds=0"},
		Files: g.Files, NICs: g.NICs, CPUs: g.CPUs, Queues: g.Queues, LinkSpeed: g.LinkSpeed, Cables: g.Cables,
	})
	if err != nil {
		t.Fatal(err)
	}
	if g.LineRate > 0 {
		m.Wire().SetRates(slices.Repeat([]float64{g.LineRate}, g.NICs))
	}
	return m
}

func relay(t *testing.T, output string) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(output))
	for lines.Scan() {
		t.Log("guest: " + lines.Text())
	}
}

// Program gives the files of a program of this machine, with the libraries it is linked with, for the guest's
// /bin and the paths its loader looks in.
func Program(ctx context.Context, name string) ([]initramfs.Entry, error) {
	path, err := lookPath(name)
	if err != nil {
		return nil, err
	}
	files := []initramfs.Entry{initramfs.Copy("/bin/"+name, 0o755, path)}
	out, err := osrun.Run(ctx, osrun.Cmd{Path: "ldd", Args: []string{path}, Timeout: 20 * time.Second})
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out.Stdout)) {
		for word := range strings.FieldsSeq(line) {
			if strings.HasPrefix(word, "/") {
				files = append(files, initramfs.Copy(word, 0o755, word))
			}
		}
	}
	return files, nil
}

// Programs gives the files of several programs, each file once.
func Programs(t *testing.T, names ...string) (files []initramfs.Entry) {
	t.Helper()
	for _, name := range names {
		more, err := Program(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range more {
			if !slices.ContainsFunc(files, func(e initramfs.Entry) bool { return e.Path == f.Path }) {
				files = append(files, f)
			}
		}
	}
	return files
}

// lookPath finds a program also where only root's $PATH looks.
func lookPath(name string) (string, error) {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return filepath.EvalSymlinks(path)
		}
	}
	return "", errors.New(name + ": no such program: make test installs it")
}
