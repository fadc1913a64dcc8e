package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"bondrepro/bondctl"
)

// bondFlags are the flags that say what a file would.
var bondFlags = []string{"mode", "set", "slave", "primary", "mtu", "txqueuelen", "qdisc", "address"}

// bond is what the flags or the file ask for.
func (f upFlags) bond(stdin io.Reader, changed func(flag string) bool, args []string) (bondctl.Bond, error) {
	if !changed("file") {
		return f.fromFlags(changed, args)
	}
	for _, other := range bondFlags {
		if changed(other) {
			return bondctl.Bond{}, fmt.Errorf("--%s and -f: the bond comes from flags or from a file, not from both", other)
		}
	}
	if len(args) > 0 {
		return bondctl.Bond{}, fmt.Errorf("the name of the bond is in %s: leave %s out", f.file, args[0])
	}
	name, read := f.file, func() ([]byte, error) { return os.ReadFile(f.file) }
	if name == "-" {
		name, read = "standard input", func() ([]byte, error) { return io.ReadAll(stdin) }
	}
	src, err := read()
	if err != nil {
		return bondctl.Bond{}, err
	}
	return bondctl.ParseYAML(name, src)
}

// fromFlags is what the flags alone ask for.
func (f upFlags) fromFlags(changed func(flag string) bool, args []string) (bondctl.Bond, error) {
	if len(args) != 1 {
		return bondctl.Bond{}, errors.New("name one bond: bondctl up NAME --mode MODE …, or give a file with -f")
	}
	bond := bondctl.Bond{Name: args[0], MTU: f.mtu, TxQueueLen: f.txqueuelen, Qdisc: f.qdisc}
	for _, number := range []struct {
		flag  string
		value int
	}{{"mtu", f.mtu}, {"txqueuelen", f.txqueuelen}} {
		if changed(number.flag) && number.value < 1 {
			return bond, fmt.Errorf("--%s: a whole number above 0 is wanted, not %d", number.flag, number.value)
		}
	}
	if changed("mode") {
		bond.Options = append(bond.Options, bondctl.Option{Name: "mode", Value: f.mode})
	}
	if changed("primary") {
		bond.Options = append(bond.Options, bondctl.Option{Name: "primary", Value: f.primary})
	}
	for _, text := range f.set {
		o, err := option("--set", text)
		if err != nil {
			return bond, err
		}
		bond.Options = append(bond.Options, o)
	}
	for _, text := range f.slaves {
		words := strings.Split(text, ",")
		port := bondctl.Port{Name: words[0]}
		for _, word := range words[1:] {
			o, err := option("--slave", word)
			if err != nil {
				return bond, err
			}
			port.Options = append(port.Options, o)
		}
		bond.Slaves = append(bond.Slaves, port)
	}
	for _, text := range f.addresses {
		a, err := netip.ParsePrefix(text)
		if err != nil {
			return bond, fmt.Errorf("--address: an address with its prefix such as 192.0.2.1/24 is wanted, not %q", text)
		}
		bond.Addresses = append(bond.Addresses, a)
	}
	return bond.Check()
}

// option takes NAME=VALUE apart.
func option(flag, text string) (bondctl.Option, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return bondctl.Option{}, fmt.Errorf("%s: NAME=VALUE is wanted, not %q", flag, text)
	}
	return bondctl.Option{Name: name, Value: value}, nil
}
