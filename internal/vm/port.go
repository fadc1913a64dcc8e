package vm

// port is what a line takes its frames from: the NIC's other end as QEMU shows it.
type port interface {
	// next puts the next frame the guest sent into buf, and tells whether it had to be waited for. The wait is at most
	// longestWait; then, or when a signal came, the error is EAGAIN or EINTR. Called by one thread.
	next(buf []byte) (n int, waited bool, err error)
	// give hands a frame to the guest. It does not wait: what the NIC has no room for is lost, as on a wire. Called
	// by any thread, also while next runs.
	give(frame []byte)
	// close is called once, when neither next nor give runs nor will.
	close()
}
