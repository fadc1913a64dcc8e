package bondctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Journals are those of one machine. Who has opened them holds the machine's lock: one command at a time changes
// interfaces.
type Journals struct {
	dir, command string
	lock         *os.File
}

// BusyError says that another command holds the lock.
type BusyError struct {
	PID     int // 0 where it has not said so yet
	Command string
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("another command changes interfaces at the moment: pid %d (%s); wait for its end", e.PID, e.Command)
}

// UnfinishedError says that a command ended before it put back what it had changed.
type UnfinishedError struct{ Entries []Entry }

func (e *UnfinishedError) Error() string {
	var all []string
	for _, x := range e.Entries {
		all = append(all, fmt.Sprintf("%s (of pid %d, %s, %s)", strings.Join(x.Interfaces, ", "), x.PID, x.Command, x.Begun.Local().Format(time.DateTime)))
	}
	return "a command ended before it had put back what it changed: bondctl restore puts it back: " + strings.Join(all, "; ")
}

// OpenJournals takes the lock. command is what others are told of who has it. dir is JournalDir but for tests. Errors are
// *BusyError or of the file system.
func OpenJournals(dir, command string) (*Journals, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return nil, fmt.Errorf("journal: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	switch err := take(lock); {
	case errors.Is(err, unix.EWOULDBLOCK):
		busy := holder(lock)
		return nil, errors.Join(busy, lock.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("journal: flock %s: %w", lock.Name(), err), lock.Close())
	}
	j := &Journals{dir: dir, command: command, lock: lock}
	if err := j.sign(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

const lockName = "lock"

// take takes the lock, which ends with the process, whatever ends that. Readers share it for an instant.
func take(lock *os.File) (err error) {
	for range 10 {
		if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// sign writes who holds the lock.
func (j *Journals) sign() error {
	text := fmt.Appendf(nil, "%d %s\n", os.Getpid(), j.command)
	if err := j.lock.Truncate(0); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	_, err := j.lock.WriteAt(text, 0)
	return err
}

// holder reads who holds the lock.
func holder(lock *os.File) error {
	text := make([]byte, 4096)
	n, _ := lock.ReadAt(text, 0)
	pid, command, _ := strings.Cut(strings.TrimSpace(string(text[:n])), " ")
	number, _ := strconv.Atoi(pid)
	return &BusyError{PID: number, Command: command}
}

// Close gives the lock back; the journals stay.
func (j *Journals) Close() error { return j.lock.Close() }

// All are the journals that are open, by file name.
func (j *Journals) All() ([]*Journal, error) { return readJournals(j.dir) }

// Of is the journal of a bond that was made in the calling thread's network namespace, nil where there is none.
func (j *Journals) Of(bond string) (*Journal, error) {
	all, err := j.All()
	if err != nil {
		return nil, err
	}
	for _, x := range all {
		if x.record.Bond == bond && len(x.record.Made) > 0 && x.here() == nil {
			return x, nil
		}
	}
	return nil, nil
}

// Finished is an *UnfinishedError where a command has ended before it put back what it had changed, else nil.
func (j *Journals) Finished() error {
	all, err := j.All()
	if err != nil {
		return err
	}
	return unfinished(all)
}

func unfinished(all []*Journal) error {
	e := &UnfinishedError{}
	for _, x := range all {
		if !x.record.Kept {
			e.Entries = append(e.Entries, x.Entry())
		}
	}
	if len(e.Entries) == 0 {
		return nil
	}
	return e
}

// CheckJournals is Finished for a command that changes no interface: it waits for nobody, and is silent while another
// command is at work, or where the journals can't be read.
func CheckJournals(dir string) error {
	lock, err := share(dir)
	if err != nil {
		return nil
	}
	defer lock.Close()
	all, err := readJournals(dir)
	if err != nil {
		return nil
	}
	return unfinished(all)
}

// Busy is a *BusyError while another command has the lock, else nil. It keeps nobody waiting.
func Busy(dir string) error {
	lock, err := share(dir)
	var busy *BusyError
	switch {
	case errors.As(err, &busy):
		return busy
	case err == nil:
		lock.Close()
	}
	return nil // also where nobody has made it yet, or it can't be read
}

// share takes the lock as one of several readers, where there is a lock: *BusyError while a command has it.
func share(dir string) (*os.File, error) {
	lock, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = holder(lock)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// readJournals reads a folder's journals.
func readJournals(dir string) ([]*Journal, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	slices.Sort(names)
	var all []*Journal
	for _, name := range names {
		x, err := readJournal(name)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

func readJournal(name string) (*Journal, error) {
	x := &Journal{file: name}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := json.Unmarshal(text, &x.record); err != nil {
		return nil, fmt.Errorf("journal: %s: %w: it is of no use; when the interfaces are as they should be, remove it", name, err)
	}
	if x.record.Version != journalVersion {
		return nil, fmt.Errorf("journal: %s is of another version of bondctl (format %d, this one has %d): restore with that one", name, x.record.Version, journalVersion)
	}
	return x, nil
}
