package bondctl

import (
	"errors"
	"fmt"
	"syscall"
)

// Error is a refusal by the kernel: what was tried, on what, and the kernel's own words. Err wraps the errno.
type Error struct {
	Op     string // as a person would type it: "link set master"
	Object string // the interface or qdisc
	Err    error
}

func (e *Error) Error() string {
	var errno syscall.Errno
	if errors.As(e.Err, &errno) && e.Err.Error() != errno.Error() {
		return fmt.Sprintf("%s: %s: %v (errno %d)", e.Op, e.Object, e.Err, int(errno))
	}
	return fmt.Sprintf("%s: %s: %v", e.Op, e.Object, e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

func failed(op, object string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Object: object, Err: err}
}

// MismatchError says that the kernel took an option and then reports another value for it.
type MismatchError struct {
	Object, Option, Want, Got string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: %s was set to %s and reads back as %s", e.Object, e.Option, e.Want, e.Got)
}

// OffloadError says that an interface does not take an offload setting.
type OffloadError struct {
	Interface, Feature string
	Want               bool
	Why                string
}

func (e *OffloadError) Error() string {
	return fmt.Sprintf("offload.%s: %s can't be turned %s on %s: %s", e.Feature, e.Feature, map[bool]string{true: "on", false: "off"}[e.Want], e.Interface, e.Why)
}

// LineRateError says that a TX queue's line would be too slow for tbf, which would drop every large packet.
type LineRateError struct {
	Interface string
	Rate      float64 // bits/s of one TX queue
}

func (e *LineRateError) Error() string {
	return fmt.Sprintf("topology.slaves.line_rate: a TX queue of %s would have %.0f bit/s, and tbf can't make less than %.0f: give a faster line, or fewer queues", e.Interface, e.Rate, float64(tbfSlowest))
}

// UnsupportedError says that the kernel has no such thing as a bond, a qdisc or an option.
type UnsupportedError struct {
	What string // "bonding", "netem", …
	Err  error
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("this kernel has no %s: %v", e.What, e.Err)
}

// Unwrap gives the cause.
func (e *UnsupportedError) Unwrap() error { return e.Err }
