// Package thread runs code on an operating system thread of its own: a network namespace belongs to a thread.
package thread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Run runs f on a thread that ends with it: f may move its thread to another namespace, and no other code ever
// runs there. Threads that the Go runtime starts meanwhile are not born of a locked thread (runtime.newm).
func Run(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			// The runtime can't end the main thread. While it is held here another goroutine gets another one.
			defer runtime.UnlockOSThread()
			result <- Run(f)
			return
		}
		result <- f()
	}()
	return <-result
}
