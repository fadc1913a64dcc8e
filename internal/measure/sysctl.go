package measure

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// netSysctl begins the names of those that a network namespace may have of its own.
const netSysctl = "net/"

// sysctlPath is a sysctl's path below /proc/sys, of its name with dots or with slashes (sysctl(8)).
func sysctlPath(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return strings.ReplaceAll(name, ".", "/")
}

// applySysctls sets each value in the calling thread's namespace, and reads it back. undo puts back what was there. A name
// that does not exist here is in missing and no error.
func applySysctls(values map[string]string) (undo func() error, missing map[string]string, err error) {
	before := map[string]string{}
	undo = func() error {
		var errs []error
		for path, value := range before {
			if err := writeSysctl(path, strings.TrimSpace(value)); err != nil {
				errs = append(errs, fmt.Errorf("put sysctl %s back to %q: %s", path, value, withoutPath(err)))
			}
		}
		return errors.Join(errs...)
	}
	missing = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		path := sysctlPath(name)
		old, err := os.ReadFile("/proc/sys/" + path)
		if errors.Is(err, fs.ErrNotExist) {
			missing[name] = values[name]
			continue
		}
		if err == nil {
			err = writeSysctl(path, values[name])
		}
		if err != nil {
			return undo, missing, refuse("sysctl.%s: %q can't be set: %s", name, values[name], withoutPath(err))
		}
		before[path] = string(old)
	}
	return undo, missing, nil
}

// writeSysctl sets a sysctl unless it has the value already: /proc/sys is read-only in many containers.
func writeSysctl(path, value string) error {
	file := "/proc/sys/" + path
	same := func() (bool, string, error) {
		now, err := os.ReadFile(file)
		return slices.Equal(strings.Fields(string(now)), strings.Fields(value)), strings.TrimSpace(string(now)), err
	}
	if is, _, err := same(); is || err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(value), 0); err != nil {
		return err
	}
	is, now, err := same()
	if err == nil && !is {
		err = fmt.Errorf("it reads back as %q", now)
	}
	return err
}

// withoutPath is an error of a file without the file's name, which the user did not give.
func withoutPath(err error) string {
	var file *fs.PathError
	if errors.As(err, &file) {
		return file.Err.Error()
	}
	return err.Error()
}

// refuse says that what was asked for can't be had here.
func refuse(format string, args ...any) *Fault {
	return &Fault{Class: Refused, Text: fmt.Sprintf(format, args...)}
}

// unknownSysctl is about the first of the names that are nowhere; nil when there is none.
func unknownSysctl(missing map[string]string, machine bool) error {
	if len(missing) == 0 {
		return nil
	}
	name := slices.Sorted(maps.Keys(missing))[0]
	switch {
	case machine:
		return refuse("sysctl.%s: this kernel has no such sysctl", name)
	case !strings.HasPrefix(sysctlPath(name), netSysctl):
		return refuse("sysctl.%s: it is the whole machine's, and only a network namespace's (net.…) are set on the running kernel; use --testbed vm", name)
	}
	return refuse("sysctl.%s: a network namespace of this kernel has no such sysctl; one that only the whole machine has can be set with --testbed vm", name)
}

// mine are those of values that may be set here: on a machine that is not ours those of a network namespace.
func mine(values map[string]string, machine bool) (may, not map[string]string) {
	may, not = map[string]string{}, map[string]string{}
	for name, value := range values {
		if machine || strings.HasPrefix(sysctlPath(name), netSysctl) {
			may[name] = value
		} else {
			not[name] = value
		}
	}
	return may, not
}

// sysctlsHere sets the job's sysctls for a measurement in this process's own namespace.
func sysctlsHere(job Job) (undo func() error, err error) {
	values := job.Scenario.Sysctl
	if job.Ports != nil && len(values) > 0 {
		return func() error { return nil }, refuse("sysctl.%s: no sysctl is set on a machine that is not ours alone; use --testbed vm", slices.Sorted(maps.Keys(values))[0])
	}
	may, not := mine(values, job.Machine)
	if err := unknownSysctl(not, job.Machine); err != nil {
		return func() error { return nil }, err
	}
	undo, missing, err := applySysctls(may)
	if err == nil {
		err = unknownSysctl(missing, job.Machine)
	}
	return undo, err
}
