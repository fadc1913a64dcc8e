package workload

import (
	"fmt"
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// Share is one kind of transfer in the Mix.
type Share struct {
	Name              string
	Request, Response int // bytes
	Weight            int // how many of the Mix's sum of weights are of this kind
}

// Mix is the transfers of kind mixed: what a file server answers, as we see it. Seven of ten are questions about files,
// which fit in one packet each way; a quarter move a page or a few; one in twenty moves 60 KiB, and those are more than
// half of the bytes. The sizes are ours, not dbench's: they keep what the loopback-TSO report reasons with, that most
// transfers are smaller than a segment and that few large ones carry most bytes.
//
// Each client has the Mix as a deck of cards, shuffled by a generator seeded with the client's number, which it goes
// through again and again: the order is the same in every run, and every deck holds each kind exactly by its weight.
var Mix = []Share{
	{"ask", 96, 96, 50},
	{"list", 96, 640, 20},
	{"read a page", 64, 4160, 12},
	{"write a page", 4160, 64, 8},
	{"read pages", 64, 16448, 3},
	{"write pages", 16448, 64, 2},
	{"read much", 64, 61504, 3},
	{"write much", 61504, 64, 2},
}

// decks is how often the Mix is in one deck.
const decks = 10

// deck is the order of one client's transfers, as indices of Mix.
func deck(client int) []byte {
	var cards []byte
	for kind, share := range Mix {
		for range share.Weight * decks {
			cards = append(cards, byte(kind))
		}
	}
	random := rand.New(rand.NewPCG(1, uint64(client)))
	random.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
	return cards
}

// largest is the bytes of the longest message of the Mix.
func largest() (n int) {
	for _, share := range Mix {
		n = max(n, share.Request, share.Response)
	}
	return n
}

// askMixed is the transfers of one client. The first byte of a request is its kind.
func askMixed(client int) exchange {
	cards, out, in, next := deck(client), make([]byte, largest()), make([]byte, largest()), 0
	return func(fd int) (int, string, int, error) {
		kind := cards[next]
		if next++; next == len(cards) {
			next = 0
		}
		share := &Mix[kind]
		out[0] = kind
		if n, err := writeAll(fd, out[:share.Request]); n <= 0 {
			return 0, "write the request", n, err
		}
		if n, err := readFull(fd, in[:share.Response]); n <= 0 {
			return 0, "read the response", n, err
		}
		return share.Request + share.Response, "", 0, nil
	}
}

// answerMixed is the server of one client.
func answerMixed() loop {
	in, out := make([]byte, largest()), make([]byte, largest())
	return func(w *worker) error {
		for {
			got, err := read(w.fd, in)
			if got <= 0 {
				return w.fail("read the request", got, err)
			}
			if int(in[0]) >= len(Mix) {
				return w.fail(fmt.Sprintf("a request of kind %d", in[0]), 0, unix.EPROTO)
			}
			share := &Mix[in[0]]
			if got < share.Request {
				if n, err := readFull(w.fd, in[got:share.Request]); n <= 0 {
					return w.fail("read the request", n, err)
				}
			}
			if n, err := writeAll(w.fd, out[:share.Response]); n <= 0 {
				return w.fail("write the response", n, err)
			}
			w.operations.Add(1)
			w.turn()
		}
	}
}
