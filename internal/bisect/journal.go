package bisect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	journalName = "journal.jsonl"
	reportName  = "report.json"
	resultsName = "results"
)

// journal is the file of events in a bisect's folder: one JSON document a line, each on disk before what follows from it
// is begun. It is locked while a bisect is under way.
type journal struct {
	file   *os.File
	events []event
}

// createJournal makes the folder and the journal in it. A folder with anything in it is refused: a bisect removes what it made there,
// by name.
func createJournal(folder string) (*journal, error) {
	name := filepath.Join(folder, journalName)
	if _, err := os.Stat(name); err == nil {
		return nil, taken(folder, name)
	}
	if there, err := os.ReadDir(folder); err == nil && len(there) > 0 {
		return nil, &UsageError{Err: fmt.Errorf("%s holds %s, which is of no bisect: name a folder with --dir that is new or empty", folder, there[0].Name())}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the bisect's folder: %w", err)
	}
	return lockJournal(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// openJournal opens the journal of a folder to go on with it.
func openJournal(folder string) (*journal, error) {
	j, err := lockJournal(filepath.Join(folder, journalName), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noBisect(folder)
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(j.file.Name())
	if err == nil {
		var whole int
		j.events, whole, err = parseJournal(j.file.Name(), data)
		if err == nil { // a line that a crash cut off is begun anew
			err = j.file.Truncate(int64(whole))
		}
		if err == nil {
			_, err = j.file.Seek(int64(whole), 0)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the bisect's journal: %w", err), j.Close())
	}
	return j, nil
}

// readJournal gives the events of a folder's journal, of a bisect under way, too.
func readJournal(folder string) ([]event, error) {
	name := filepath.Join(folder, journalName)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noBisect(folder)
	}
	if err != nil {
		return nil, err
	}
	events, _, err := parseJournal(name, data)
	return events, err
}

// resumed tells whether a folder's bisect has begun.
func resumed(folder string) bool {
	st, err := os.Stat(filepath.Join(folder, journalName))
	return err == nil && st.Size() > 0
}

// taken says what there is in a folder with a journal.
func taken(folder, name string) error {
	say := fmt.Sprintf("%s holds a bisect that did not end: 'bondrepro bisect resume --dir %[1]s' goes on with it, 'rm -r %[1]s && git worktree prune' forgets it", folder)
	if j, err := lockJournal(name, os.O_RDWR); err != nil {
		return err
	} else if err := j.Close(); err != nil {
		return err
	}
	if events, err := readJournal(folder); err == nil && events[len(events)-1].Kind == evEnd {
		say = fmt.Sprintf("%s holds a bisect that is over: 'bondrepro bisect resume --dir %[1]s' prints its report, 'rm -r %[1]s' forgets it", folder)
	}
	return &UsageError{Err: errors.New(say)}
}

func noBisect(folder string) error {
	return &UsageError{Err: fmt.Errorf("%s holds no bisect (no %s): name its folder with --dir", folder, journalName)}
}

func lockJournal(name string, flags int) (*journal, error) {
	f, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, &UsageError{Err: fmt.Errorf("the bisect in %s is under way in another process", filepath.Dir(name))}
	}
	return &journal{file: f}, nil
}

// parseJournal gives the events and how many bytes the whole lines are: the last line may be cut off.
func parseJournal(name string, data []byte) (events []event, whole int, err error) {
	for number := 1; ; number++ {
		end := bytes.IndexByte(data[whole:], '\n')
		if end < 0 {
			break
		}
		var e event
		if err := json.Unmarshal(data[whole:whole+end], &e); err != nil {
			return nil, 0, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		if !slices.Contains(kinds, e.Kind) {
			return nil, 0, &UsageError{Err: fmt.Errorf("%s:%d: there is no event %q in this version of bondrepro: go on with the one that began the bisect", name, number, e.Kind)}
		}
		events = append(events, e)
		whole += end + 1
	}
	if len(events) == 0 || events[0].Kind != evBegin || events[0].Params == nil {
		return nil, 0, &UsageError{Err: fmt.Errorf("%s does not begin as the journal of a bisect: it was killed before it began; 'rm -r %s' forgets it", name, filepath.Dir(name))}
	}
	return events, whole, nil
}

// add writes an event and waits until it is on disk.
func (j *journal) add(e event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the bisect's journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("write the bisect's journal: %w", err)
	}
	j.events = append(j.events, e)
	return nil
}

// Close lets another process go on.
func (j *journal) Close() error { return j.file.Close() }
