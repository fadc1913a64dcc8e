package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"bondrepro/bondctl"
	"bondrepro/internal/ports"

	"golang.org/x/sys/unix"
)

// look tells why a run could not begin for what stands in the journals' folder: a *bondctl.UnfinishedError, a
// *bondctl.BusyError, an *unreadableError, or nil. It changes nothing.
func look(dir string) error {
	if err := usable(dir); err != nil {
		return &unreadableError{dir, err}
	}
	if err := bondctl.Busy(dir); err != nil {
		return err
	}
	return bondctl.CheckJournals(dir)
}

// unreadableError says that this user can't use the journals' folder, so that nobody can tell what is in it.
type unreadableError struct {
	dir string
	err error
}

func (e *unreadableError) Error() string {
	return fmt.Sprintf("this user can't look whether a command left anything to be put back, nor write down what a run changes: %s: %v", e.dir, e.err)
}

// usable tells why a run could not write down what it changes, or could not read what others wrote.
func usable(dir string) error {
	err := may(dir, unix.R_OK|unix.W_OK|unix.X_OK)
	if errors.Is(err, unix.ENOENT) { // it is made
		return mayMake(filepath.Dir(dir))
	}
	if err != nil {
		return err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := may(filepath.Join(dir, f.Name()), unix.R_OK|unix.W_OK); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return nil
}

// mayMake asks for the folder in which the ones that are missing are made.
func mayMake(parent string) error {
	for {
		err := may(parent, unix.W_OK|unix.X_OK)
		above := filepath.Dir(parent)
		if !errors.Is(err, unix.ENOENT) || above == parent {
			return err
		}
		parent = above
	}
}

// may asks the kernel what the effective user may do, as open(2) will. A file that is gone meanwhile is ENOENT.
func may(path string, mode uint32) error {
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
}

// journals tells what look found.
func journals(found error) Check {
	c := Check{Name: "journal", Code: "journal", Needed: true, OK: found == nil, Found: "no command left anything to be put back"}
	if !c.OK {
		c.Found, c.Remedy = found.Error(), remedyOf(found)
	}
	return c
}

func remedyOf(found error) string {
	var at *bondctl.BusyError
	var unreadable *unreadableError
	switch {
	case errors.As(found, &at):
		return "look once more when it has ended"
	case errors.As(found, &unreadable):
		return "start it with sudo, or as the user whose commands change the ports"
	}
	return "bondctl restore"
}

// hidden is the check of a port that has a master, where this user can't tell whether a command left it so: to take it out
// by hand would be the wrong advice then. False for other ports.
func hidden(f ports.Facts, found error) (Check, bool) {
	var unreadable *unreadableError
	if f.Master == "" || !errors.As(found, &unreadable) {
		return Check{}, false
	}
	return Check{
		Name: f.Name, Code: "journal", Needed: true, Remedy: remedyOf(found),
		Found: fmt.Sprintf("%s has a master, %s, and this user can't tell whether a command that ended too early left it so", f.Name, f.Master),
	}, true
}

// changed is the check of a port that is not now what it was: nothing that it is tells anything. False where it is.
func changed(name string, found error) (Check, bool) {
	c := Check{Name: name, Code: "journal", Needed: true, Remedy: remedyOf(found)}
	var left *bondctl.UnfinishedError
	var at *bondctl.BusyError
	switch {
	case errors.As(found, &at):
		c.Found = fmt.Sprintf("%s is not looked at while another command changes interfaces (pid %d)", name, at.PID)
		return c, true
	case errors.As(found, &left):
		for _, e := range left.Entries {
			if name == e.Bond || slices.Contains(e.Interfaces, name) {
				c.Found = fmt.Sprintf("%s is as a command left it that ended too early (pid %d), and so it is not looked at", name, e.PID)
				return c, true
			}
		}
	}
	return Check{}, false
}
