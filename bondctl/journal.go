package bondctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bondrepro/internal/ifstate"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// JournalDir is where commands write down what interfaces were before they change them. It outlives a reboot.
const JournalDir = "/var/lib/bondrepro"

// journalVersion is raised when a field changes its meaning.
const journalVersion = 1

// record is a journal's file.
type record struct {
	Version int       `json:"version"`
	Command string    `json:"command"` // that made the change
	PID     int       `json:"pid"`
	Begun   time.Time `json:"begun"`
	// Namespace is the network namespace's inode; First, that it is the one the machine came up with.
	Namespace uint64 `json:"namespace"`
	First     bool   `json:"first_namespace"`
	// Kept tells that the bond stays on purpose after the command's end, until it is taken down.
	Kept bool   `json:"kept,omitempty"`
	Bond string `json:"bond"`
	// Made is the bond, where the command makes it.
	Made []ifstate.Made `json:"made,omitempty"`
	Was  ifstate.State  `json:"was"`
}

// Journal is what was written down of some interfaces before they are changed.
type Journal struct {
	file   string
	record record
}

// Entry is what a journal says of itself.
type Entry struct {
	Bond       string
	Command    string
	PID        int
	Begun      time.Time
	Kept       bool     // the bond stays on purpose until it is taken down
	Interfaces []string // that were written down
}

// Leftover is one thing of an interface that is not as it was.
type Leftover struct {
	Interface, What, Was, Is string
	Err                      string // the kernel's words, where it refused
	Gone                     bool   // the interface is not there any more
	Link                     bool   // the interface lost its carrier, and this comes by itself with it
}

// beyond tells that nobody can put it back from here.
func (l Leftover) beyond() bool { return l.Gone || l.Link }

func (l Leftover) String() string {
	if l.Gone {
		return l.Interface + " is gone: nothing of it can be put back"
	}
	if l.Link {
		return fmt.Sprintf("%s has no carrier any more: %s comes back with it", l.Interface, l.What)
	}
	text := fmt.Sprintf("%s: %s: it was %s and is %s", l.Interface, l.What, l.Was, l.Is)
	switch {
	case l.Was == "":
		text = fmt.Sprintf("%s: %s: %s was not there", l.Interface, l.What, l.Is)
	case l.Is == "":
		text = fmt.Sprintf("%s: %s: %s is missing", l.Interface, l.What, l.Was)
	}
	if l.Err != "" {
		text += " (" + l.Err + ")"
	}
	return text
}

// Change says what is about to be changed.
type Change struct {
	Bond       string   // by name
	Makes      bool     // the bond is made; else it is there, and is changed
	Interfaces []string // those that are changed, beside a bond that is made
}

// fileName tells journals apart: a bond that is kept may be measured, too. The first namespace has another number in
// another kernel.
func (c Change) fileName(namespace uint64, first bool) string {
	kind, where := "made", strconv.FormatUint(namespace, 10)
	if !c.Makes {
		kind = "changed"
	}
	if first {
		where = "first"
	}
	return fmt.Sprintf("%s.%s.%s.json", c.Bond, where, kind)
}

// IrrestorableError says that interfaces have what could not be put back exactly.
type IrrestorableError struct{ Problems []string }

func (e *IrrestorableError) Error() string {
	return "what could not be put back exactly is not touched: " + strings.Join(e.Problems, "; ")
}

// Begin writes down what the interfaces are, and syncs it, before the first change. It gives the journal and, where a bond
// is made, the ifindex it is to get (Spec.Ifindex). Journals that are open stand against it: an *UnfinishedError.
func (j *Journals) Begin(ctx context.Context, change Change) (*Journal, error) {
	if err := j.Finished(); err != nil {
		return nil, err
	}
	was, err := ifstate.Capture(change.Interfaces)
	if err != nil {
		return nil, err
	}
	if problems := was.Irrestorable(); len(problems) > 0 {
		e := &IrrestorableError{}
		for _, p := range problems {
			e.Problems = append(e.Problems, fmt.Sprintf("%s: %s", p.Interface, p.What))
		}
		return nil, e
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	namespace, first, err := ownNamespace()
	if err != nil {
		return nil, err
	}
	journal := &Journal{
		file: filepath.Join(j.dir, change.fileName(namespace, first)),
		record: record{
			Version: journalVersion, Command: j.command, PID: os.Getpid(), Begun: time.Now().UTC().Truncate(time.Second),
			Namespace: namespace, First: first, Bond: change.Bond, Was: was,
		},
	}
	if err := j.replaceable(journal.file, change.Bond); err != nil {
		return nil, err
	}
	if change.Makes {
		// Far from those that the kernel gives out itself.
		const least, span = 1 << 16, 1 << 29
		journal.record.Made = []ifstate.Made{{Name: change.Bond, Ifindex: least + rand.IntN(span)}}
	}
	if err := journal.write(); err != nil {
		return nil, errors.Join(err, journal.Forget()) // nothing was changed
	}
	return journal, nil
}

// replaceable tells whether a new journal may take the place of a file: there is none, or it is spent.
func (j *Journals) replaceable(file, bond string) error {
	if _, err := os.Lstat(file); err != nil {
		return nil
	}
	old, err := readJournal(file)
	if err != nil {
		return err
	}
	have, err := links()
	if err != nil {
		return err
	}
	if !old.spent(have) {
		return fmt.Errorf("%s: there is a journal of this bond already: bondctl down %s gives its slaves back", file, bond)
	}
	return nil
}

// spent tells that a bond that was to stay does not: a reboot, or somebody, took it away, and what its slaves are now is
// not ours to undo.
func (j *Journal) spent(have Interfaces) bool {
	if !j.record.Kept || len(j.record.Made) == 0 {
		return false
	}
	there, ok := have[j.record.Bond]
	return !ok || there.Index != j.Ifindex() || !j.record.Was.OfThisBoot()
}

// write puts the record on the disk, whole or not at all.
func (j *Journal) write() error {
	text, err := json.MarshalIndent(j.record, "", " ")
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := renameio.WriteFile(j.file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return syncDir(filepath.Dir(j.file))
}

// syncDir makes a folder's names last through a power cut.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

// Ifindex is the one that the bond is to get, 0 where none is made.
func (j *Journal) Ifindex() int {
	if len(j.record.Made) == 0 {
		return 0
	}
	return j.record.Made[0].Ifindex
}

// Keep notes that the bond stays after the command's end.
func (j *Journal) Keep() error {
	j.record.Kept = true
	return j.write()
}

// release notes that the bond is being taken down: whoever ends in the middle of that has left it unfinished.
func (j *Journal) release() error {
	if !j.record.Kept {
		return nil
	}
	j.record.Kept = false
	return j.write()
}

// Entry is what the journal says of itself.
func (j *Journal) Entry() Entry {
	r := j.record
	e := Entry{Bond: r.Bond, Command: r.Command, PID: r.PID, Begun: r.Begun, Kept: r.Kept}
	for _, i := range r.Was.Interfaces {
		e.Interfaces = append(e.Interfaces, i.Name)
	}
	return e
}

// Restore puts everything back that the journal holds, whatever there is now: the bond that was made goes, each interface
// becomes what it was. It returns what could not be put back, and closes the journal when that is nothing but interfaces
// that are gone, and links that are lost. changed is told each change, as Client.Changed is; nil is nobody.
func (j *Journal) Restore(ctx context.Context, changed func(command string)) ([]Leftover, error) {
	if err := j.here(); err != nil {
		return nil, err
	}
	left, err := ifstate.Restore(ctx, j.record.Was, j.record.Made, changed)
	if err != nil {
		return nil, err
	}
	var all []Leftover
	for _, l := range left {
		all = append(all, Leftover{Interface: l.Interface, What: l.What, Was: l.Want, Is: l.Got, Err: l.Err, Gone: l.Gone, Link: l.Link})
	}
	if slices.ContainsFunc(all, func(l Leftover) bool { return !l.beyond() }) {
		return all, nil
	}
	return all, j.Forget()
}

// Forget closes the journal: what is not put back stays as it is.
func (j *Journal) Forget() error {
	if err := os.Remove(j.file); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("journal: %w", err)
	}
	return syncDir(filepath.Dir(j.file))
}

// here tells whether the interfaces are those of the calling thread's network namespace. After a reboot only the first
// namespace can be.
func (j *Journal) here() error {
	namespace, first, err := ownNamespace()
	if err != nil {
		return err
	}
	again := namespace == j.record.Namespace && !j.record.First && j.record.Was.OfThisBoot()
	if again || first && j.record.First {
		return nil
	}
	return fmt.Errorf("%s is about the network namespace net:[%d], and this is net:[%d]: run bondctl restore there; if it is gone, remove the file", j.file, j.record.Namespace, namespace)
}

// ownNamespace is the inode of the calling thread's network namespace, and whether that is the first one: only there are
// the settings of all namespaces (net_core_table, net/core/sysctl_net_core.c). To ask process 1 takes the right to
// trace it.
func ownNamespace() (inode uint64, first bool, err error) {
	var own unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &own); err != nil {
		return 0, false, fmt.Errorf("stat /proc/thread-self/ns/net: %w", err)
	}
	_, err = os.Stat("/proc/sys/net/core/netdev_max_backlog")
	return own.Ino, err == nil, nil
}
