package traffic

import "runtime"

// raiseProcs lets every sender's thread run beside two others, the sampler's first, and returns what undoes it. A
// thread in short system calls keeps its processor of the runtime for 10 ms and more at a time; with more senders than
// processors the sampler then waits for its turn behind them all (64 senders on 2 CPUs: a sixth of its polls were
// made, with this two thirds). The kernel's scheduler is fairer than that.
func raiseProcs(senders int) (undo func()) {
	const others = 2
	before := runtime.GOMAXPROCS(0)
	if senders+others <= before {
		return func() {}
	}
	runtime.GOMAXPROCS(senders + others)
	return func() { runtime.GOMAXPROCS(before) }
}
