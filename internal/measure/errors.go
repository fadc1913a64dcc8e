package measure

import (
	"errors"

	"bondrepro/bondctl"
	"bondrepro/internal/traffic"

	"golang.org/x/sys/unix"
)

// Class says whose fault it is that a measurement could not be made.
type Class string

// The classes.
const (
	// Refused: what was asked for can't be honoured in this place. Usage, exit code 128.
	Refused Class = "refused"
	// Unsupported: the kernel has no such thing as the measurement needs. Cannot tell, 125.
	Unsupported Class = "unsupported"
	// Failed: a call that should work did not. In a guest that is the kernel under test: cannot tell, 125.
	Failed Class = "failed"
)

// Fault is an error of this package in a form that crosses to another process.
type Fault struct {
	Class Class  `json:"class"`
	What  string `json:"what,omitempty"` // what the kernel lacks, when Unsupported
	Text  string `json:"text"`
}

func (f *Fault) Error() string { return f.Text }

// LacksNetem tells whether the measurement failed because the kernel has no netem.
func LacksNetem(err error) bool {
	var fault *Fault
	return errors.As(err, &fault) && fault.Class == Unsupported && fault.What == bondctl.Netem
}

// isLimit tells whether this process was refused what another one would get: files, or a writable /proc/sys.
func isLimit(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.EROFS)
}

// AsFault classifies an error; nil stays nil.
func AsFault(err error) *Fault {
	var fault *Fault
	var unsupported *bondctl.UnsupportedError
	var refused *traffic.OptionError
	var offload *bondctl.OffloadError
	var slow *bondctl.LineRateError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fault):
		return fault
	case errors.As(err, &unsupported):
		return &Fault{Class: Unsupported, What: unsupported.What, Text: err.Error()}
	case errors.As(err, &refused) || errors.As(err, &offload) || errors.As(err, &slow) || isLimit(err):
		return &Fault{Class: Refused, Text: err.Error()}
	}
	return &Fault{Class: Failed, Text: err.Error()}
}
