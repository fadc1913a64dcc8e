package workload

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// receiveBuffer is what a stream's receiver reads at once: as much as iperf3's.
const receiveBuffer = 128 << 10

// sendStream writes without end.
func sendStream(size int) loop {
	buf := make([]byte, size)
	return func(w *worker) error {
		for !w.turn() {
			n, err := writeAll(w.fd, buf)
			if n <= 0 {
				return w.fail("write", n, err)
			}
			w.bytes.Add(uint64(n))
			w.operations.Add(1)
		}
		return nil
	}
}

// receiveStream reads until the end.
func receiveStream() loop {
	buf := make([]byte, receiveBuffer)
	return func(w *worker) error {
		for {
			n, err := read(w.fd, buf)
			if n <= 0 {
				return w.fail("read", n, err)
			}
			w.bytes.Add(uint64(n))
			w.operations.Add(1)
			w.turn()
		}
	}
}

// Range and exactness of latencies in ns: what is longer counts as the longest.
const (
	shortest = 100
	longest  = int64(100 * time.Second)
	digits   = 3
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }

// exchange is one transaction from the client's side: payload bytes of both directions, or what failed.
type exchange func(fd int) (payload int, op string, n int, err error)

// ask does one exchange after the other and notes how long each took while it is measured.
func ask(one exchange, h *hdrhistogram.Histogram) loop {
	return func(w *worker) error {
		for !w.turn() {
			start := time.Now()
			payload, op, n, err := one(w.fd)
			if op != "" {
				return w.fail(op, n, err)
			}
			if payload == 0 { // lost
				continue
			}
			if w.seen == measuring {
				_ = h.RecordValue(min(int64(time.Since(start)), longest)) // fails beyond longest only
			}
			w.bytes.Add(uint64(payload))
			w.operations.Add(1)
		}
		return nil
	}
}

// askStream is rr's exchange over TCP.
func askStream(request, response int) exchange {
	out, in := make([]byte, request), make([]byte, response)
	return func(fd int) (int, string, int, error) {
		if n, err := writeAll(fd, out); n <= 0 {
			return 0, "write the request", n, err
		}
		if n, err := readFull(fd, in); n <= 0 {
			return 0, "read the response", n, err
		}
		return request + response, "", 0, nil
	}
}

// answerStream is the other end of askStream.
func answerStream(request, response int) loop {
	in, out := make([]byte, request), make([]byte, response)
	return func(w *worker) error {
		for {
			if n, err := readFull(w.fd, in); n <= 0 {
				return w.fail("read the request", n, err)
			}
			if n, err := writeAll(w.fd, out); n <= 0 {
				return w.fail("write the response", n, err)
			}
			w.operations.Add(1)
			w.turn()
		}
	}
}

// lostAfter is how long a response over UDP is waited for.
const lostAfter = 200 * time.Millisecond

// numberBytes is how much of a datagram carries the number of its transaction, where it is that long.
const numberBytes = 4

// askDatagram is rr's exchange over UDP. What is not answered in time is lost; an answer that is late is dropped.
func askDatagram(request, response int, lost *lostCount) exchange {
	out, in := make([]byte, request), make([]byte, response)
	number := min(request, response, numberBytes)
	return func(fd int) (int, string, int, error) {
		lost.asked++
		for i := range number {
			out[i] = byte(lost.asked >> (8 * i))
		}
		if n, err := write(fd, out); n <= 0 {
			return 0, "send the request", n, err
		}
		for {
			n, err := read(fd, in)
			if err == unix.EAGAIN {
				lost.n.Add(1)
				return 0, "", 0, nil
			}
			if n <= 0 {
				return 0, "receive the response", n, err
			}
			if n == response && string(in[:number]) == string(out[:number]) {
				return request + response, "", 0, nil
			}
		}
	}
}

// answerDatagram is the other end of askDatagram.
func answerDatagram(request, response int) loop {
	in, out := make([]byte, request), make([]byte, response)
	number := min(request, response, numberBytes)
	return func(w *worker) error {
		for {
			n, err := read(w.fd, in)
			if n <= 0 {
				return w.fail("receive the request", n, err)
			}
			copy(out[:number], in)
			if n, err := write(w.fd, out); n <= 0 {
				return w.fail("send the response", n, err)
			}
			w.operations.Add(1)
			w.turn()
		}
	}
}
