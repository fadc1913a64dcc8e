package guest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"bondrepro/internal/guestproto"

	"golang.org/x/sys/unix"
)

// describe reads what this machine is.
func describe(problems []guestproto.Problem) (guestproto.Hello, error) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return guestproto.Hello{}, fmt.Errorf("uname: %w", err)
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return guestproto.Hello{}, fmt.Errorf("sysinfo: %w", err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return guestproto.Hello{}, fmt.Errorf("clock_gettime: %w", err)
	}
	h := guestproto.Hello{
		Release:  unix.ByteSliceToString(uts.Release[:]),
		CPUs:     runtime.NumCPU(),
		MemoryMB: int(info.Totalram * uint64(info.Unit) >> 20),
		UptimeMS: time.Duration(now.Nano()).Milliseconds(),
		Problems: problems,
	}
	for path, to := range map[string]*string{"/proc/version": &h.Version, "/proc/sys/kernel/tainted": &h.Tainted} {
		b, err := os.ReadFile(path)
		if err != nil {
			return h, err
		}
		*to = strings.TrimSpace(string(b))
	}
	// A kernel or module without notes has no build id, which the host says when it needs one.
	if b, err := os.ReadFile("/sys/kernel/notes"); err == nil {
		h.BuildID = buildID(b)
	}
	b, err := os.ReadFile("/proc/modules")
	if err != nil && !os.IsNotExist(err) { // absent in a kernel without modules
		return h, err
	}
	for line := range strings.Lines(string(b)) {
		name, _, _ := strings.Cut(line, " ")
		m := guestproto.Module{Name: name}
		if b, err := os.ReadFile(sysModule(name) + "/notes/.note.gnu.build-id"); err == nil {
			m.BuildID = buildID(b)
		}
		h.Modules = append(h.Modules, m)
	}
	return h, nil
}
