// Package guestproto is what host and guest say to each other: messages over a byte stream that may carry
// noise (a serial port), and the types of their bodies. Both ends are the same binary of the same build, so
// there is no version to negotiate.
package guestproto

import "encoding/json"

// Type says what an envelope is for.
type Type string

// The types of envelopes.
const (
	TypeHello  Type = "hello"  // guest: the first message; body Hello
	TypeBeat   Type = "beat"   // guest: alive; once a second
	TypeCall   Type = "call"   // host: do Kind with Body within TimeoutMS
	TypeCancel Type = "cancel" // host: cancel call ID; its reply still comes
	TypeNote   Type = "note"   // guest: progress of call ID; Kind and Body are the handler's
	TypeReply  Type = "reply"  // guest: call ID ended; Body, or Error
	TypePanic  Type = "panic"  // guest: call ID panicked with Error (value and stack); the guest dies
)

// Envelope is one message.
type Envelope struct {
	Type      Type            `json:"type"`
	ID        uint64          `json:"id,omitempty"` // of the call; 0 when it belongs to none
	Kind      string          `json:"kind,omitempty"`
	TimeoutMS int64           `json:"timeout_ms,omitempty"` // 0: none
	Body      json.RawMessage `json:"body,omitempty"`
	Error     string          `json:"error,omitempty"`
	// Cancelled tells that Error came after the call was cancelled or out of time.
	Cancelled bool `json:"cancelled,omitempty"`
}

// ManifestPath is where a guest finds its Manifest in its root file system.
const ManifestPath = "/bondrepro.json"

// ModuleDir is the folder of the guest's root file system that holds the module files.
const ModuleDir = "/modules"

// Manifest tells the guest what to do before it says hello. It is part of the initramfs.
type Manifest struct {
	Modules []ManifestModule  `json:"modules"` // in the order they are loaded
	Sysctls map[string]string `json:"sysctls,omitempty"`
}

// ManifestModule is one module to load.
type ManifestModule struct {
	Name   string `json:"name"`
	File   string `json:"file"`             // below ModuleDir
	Params string `json:"params,omitempty"` // as modprobe takes them: max_bonds=0
}

// Hello is what the guest is, read by itself. Nothing in it is a judgement.
type Hello struct {
	Release  string `json:"release"`  // uname -r
	Version  string `json:"version"`  // /proc/version
	BuildID  string `json:"build_id"` // hex, from /sys/kernel/notes; empty when the kernel was linked without
	CPUs     int    `json:"cpus"`
	MemoryMB int    `json:"memory_mb"`
	Tainted  string `json:"tainted"` // /proc/sys/kernel/tainted
	UptimeMS int64  `json:"uptime_ms"`
	// Modules are all that are loaded, by /proc/modules.
	Modules []Module `json:"modules"`
	// Problems are the manifest's modules and sysctls that did not go in as asked.
	Problems []Problem `json:"problems,omitempty"`
}

// Module is one loaded module.
type Module struct {
	Name    string `json:"name"`
	BuildID string `json:"build_id"` // hex, from /sys/module/NAME/notes/.note.gnu.build-id
}

// Module gives the loaded module of that name; false when it is not loaded (it may be built in).
func (h Hello) Module(name string) (Module, bool) {
	for _, m := range h.Modules {
		if m.Name == name {
			return m, true
		}
	}
	return Module{}, false
}

// Problem is one step of the manifest that failed.
type Problem struct {
	Module string `json:"module,omitempty"`
	Sysctl string `json:"sysctl,omitempty"`
	// AlreadyThere tells that /sys/module/NAME was there before we loaded it: the code is built into the
	// kernel, so the file we were given does not run.
	AlreadyThere bool   `json:"already_there,omitempty"`
	Text         string `json:"text"` // one sentence, with the errno and the kernel's own last words
}

// Exec is the body of a call of kind KindExec: run a program of the guest's file system.
type Exec struct {
	Path string   `json:"path"`
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env,omitempty"`
	Dir  string   `json:"dir,omitempty"`
}

// ExecResult is its reply. The output went out before it in notes of kind NoteOutput.
type ExecResult struct {
	ExitCode int `json:"exit_code"` // -1 when a signal ended it
}

// Output is the body of a note of kind NoteOutput.
type Output struct {
	Data []byte `json:"data"`
}

// The kind every guest serves, and its note.
const (
	KindExec   = "exec"
	NoteOutput = "output"
)

// What the guest writes to the kernel's log, each after MarkPrefix, so that the end of the console tells how far
// it came when nothing else can.
const (
	MarkPrefix    = "bondrepro: "
	MarkUserspace = "userspace reached"
	MarkLoading   = "loading module " // and its name
	MarkLoaded    = "modules loaded"
)
