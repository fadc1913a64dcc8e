package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// ReceiverSchema is the version of a receiver file's JSON form; it grows when a field changes its meaning or goes.
const ReceiverSchema = 1

// ReceivedRuns is how many runs a receiver remembers: the latest.
const ReceivedRuns = 64

// ReceiverFile is what `bondrepro receive` writes: where it listened, and an account of each run that it heard of.
type ReceiverFile struct {
	Schema   int       `json:"schema"`
	Tool     string    `json:"tool"` // bondrepro's version
	Receiver Receiver  `json:"receiver"`
	Started  time.Time `json:"started"`
	Written  time.Time `json:"written"`
	// Ended tells that the receiver has ended: nothing more will come in this file.
	Ended bool `json:"ended"`
	// Forgotten is how many runs are no longer in Runs, which holds the latest ReceivedRuns.
	Forgotten uint64        `json:"forgotten,omitempty"`
	Runs      []ReceivedRun `json:"runs"` // by the time of their first frame
	Warnings  []Warning     `json:"warnings,omitempty"`
}

// Receiver is where a receiver listened, and for what.
type Receiver struct {
	Kernel     string              `json:"kernel"`     // uname -r
	Interfaces []ReceiverInterface `json:"interfaces"` // in the order of Wire.Slaves of its runs
	Groups     []string            `json:"groups"`
	Port       int                 `json:"port"`
	// Foreign tells that frames which are no datagrams of the groups were counted, too. It takes CAP_NET_RAW.
	Foreign bool `json:"foreign"`
}

// ReceiverInterface is an interface that a receiver listened on.
type ReceiverInterface struct {
	Name    string `json:"name"`
	Ifindex int    `json:"ifindex"`
	MAC     string `json:"mac,omitempty"`
	MTU     int    `json:"mtu"`
	Driver  string `json:"driver,omitempty"`
	// ReceiveBuffer is that of each socket, bytes, as SO_RCVBUF reads back.
	ReceiveBuffer int `json:"receive_buffer"`
}

// ReceivedRun is the account of one run, told apart by the number in its payloads.
type ReceivedRun struct {
	Run   uint32    `json:"run"`
	First time.Time `json:"first"` // when its first and its last frame came, on the receiver's clock
	Last  time.Time `json:"last"`
	// Wire has one line an interface. Its series has a point a second. Foreign frames and datagrams that overflowed count
	// for the run that was heard last before them. It has the senders that were heard of, and no stale frames.
	Wire Wire `json:"wire"`
}

// Reception is what a receiver's file had of one run.
type Reception struct {
	// Missing says, in a clause, why there is no account; empty when there is one. All else may then be missing.
	Missing  string       `json:"missing,omitempty"`
	Tool     string       `json:"tool,omitempty"`
	Receiver *Receiver    `json:"receiver,omitempty"`
	Received *ReceivedRun `json:"received,omitempty"`
}

// Reception is what the file has of a run.
func (f ReceiverFile) Reception(run uint32) Reception {
	i := slices.IndexFunc(f.Runs, func(r ReceivedRun) bool { return r.Run == run })
	if i < 0 {
		why := fmt.Sprintf("the receiver's file has no run %d", run)
		if f.Forgotten > 0 {
			why += fmt.Sprintf(", and the receiver has forgotten %d runs", f.Forgotten)
		}
		return Reception{Missing: why, Tool: f.Tool, Receiver: &f.Receiver}
	}
	return Reception{Tool: f.Tool, Receiver: &f.Receiver, Received: &f.Runs[i]}
}

// AddTo gives every run of the arms that ended what the file has of it, in place of what it had.
func (f ReceiverFile) AddTo(arms []Arm) {
	for _, a := range arms {
		for i := range a.Runs {
			if rec := &a.Runs[i].Recording; rec.Failure == "" {
				got := f.Reception(rec.Run)
				rec.Receiver = &got
			}
		}
	}
}

// Heard are the packets of a run that a receiver accounts for: those that it saw, and those that it had no room for.
func (r ReceivedRun) Heard() (n uint64) {
	for _, s := range r.Wire.Senders {
		n += s.Unique
	}
	for _, l := range r.Wire.Slaves {
		n += l.Overflow
	}
	return n
}

// EncodeReceiver writes the file as one JSON document, ending in a newline.
func EncodeReceiver(w io.Writer, f ReceiverFile) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(f)
}

// DecodeReceiver reads what EncodeReceiver wrote. The name is for the error, which says what is wrong in one sentence.
func DecodeReceiver(name string, data []byte) (ReceiverFile, error) {
	var f ReceiverFile
	var probe struct {
		Schema *int `json:"schema"`
		Arms   any  `json:"arms"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return f, fmt.Errorf("%s: not a receiver's file: %w", name, position(data, err))
	}
	switch {
	case probe.Arms != nil:
		return f, fmt.Errorf("%s: not a receiver's file: it is a result; 'bondrepro receive -o FILE' writes the file of a receiver", name)
	case probe.Schema == nil:
		return f, fmt.Errorf("%s: not a receiver's file: it is JSON without a schema version", name)
	case *probe.Schema != ReceiverSchema:
		return f, fmt.Errorf("%s: its schema is version %d and this program reads version %d: use the bondrepro that wrote it", name, *probe.Schema, ReceiverSchema)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, fmt.Errorf("%s: not a receiver's file: %w", name, position(data, err))
	}
	for _, r := range f.Runs {
		if lines := len(r.Wire.Slaves); lines != len(f.Receiver.Interfaces) {
			return f, fmt.Errorf("%s: not a receiver's file: run %d has %d lines, and there are %d interfaces", name, r.Run, lines, len(f.Receiver.Interfaces))
		}
	}
	return f, nil
}
