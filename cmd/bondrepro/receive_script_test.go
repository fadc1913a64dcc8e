package main

import (
	"net"
	"os"
	"regexp"
	"strconv"
	"time"

	"bondrepro/internal/stamp"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/net/ipv4"
)

// send GROUP PORT RUN SENDER NUMBER…: sends one datagram over lo for each number, as a sender of that run does.
func send(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: send GROUP PORT RUN SENDER NUMBER…")
	}
	var n []uint64
	for _, a := range args[1:] {
		v, err := strconv.ParseUint(a, 10, 64)
		ts.Check(err)
		n = append(n, v)
	}
	lo, err := net.InterfaceByName("lo")
	ts.Check(err)
	to := &net.UDPAddr{IP: net.ParseIP(args[0]), Port: int(n[0])}
	c, err := net.ListenPacket("udp4", ":0")
	ts.Check(err)
	defer c.Close()
	p := ipv4.NewPacketConn(c)
	ts.Check(p.SetMulticastInterface(lo))
	ts.Check(p.SetMulticastLoopback(false)) // lo brings it back anyway: else it comes twice
	b := make([]byte, 100)
	for _, seq := range n[3:] {
		stamp.Put(b, stamp.Header{Run: uint32(n[1]), Sender: uint16(n[2]), Seq: seq})
		_, err := c.WriteTo(b, to)
		ts.Check(err)
	}
}

// await FILE PATTERN: waits until the file is there and has a line that matches.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE PATTERN")
	}
	want := regexp.MustCompile("(?m)" + args[1])
	var text []byte
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		text, _ = os.ReadFile(ts.MkAbs(args[0]))
		if want.Match(text) {
			return
		}
	}
	ts.Fatalf("%s has nothing that matches %s: %s", args[0], args[1], text)
}
