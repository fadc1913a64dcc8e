package main

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"bondrepro/bondctl"
)

func TestPredictRefusesFlags(t *testing.T) {
	for line, want := range map[string]string{
		"":                                      "name one bond",
		"bond0 bond1":                           "name one bond",
		"bond0 --port 6000":                     "--group and --port are needed",
		"bond0 --group 239.1.1.1":               "--group and --port are needed",
		"bond0 --group 239 --port 6000":         `--group: "239" is no address`,
		"bond0 --group 239.1.1.1+0 --port 6000": "no count from 1",
		"bond0 --group 239.1.1.1 --port 65536":  "invalid argument",
		"bond0 --group 239.1.1.1 --port 6000 --source here":       `--source: "here" is no address`,
		"bond0 --group 239.1.1.1 --port 6000 --source-port 0":     "--source-port: 0 is no UDP port",
		"bond0 --group 239.1.1.1 --port 6000 --source-port 65536": "65536 is no UDP port",
		"bond7 --group 239.1.1.1 --port 6000":                     "there is no bond named bond7",
	} {
		if out, err := inEmptyNamespace(t, newPredict(), strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", line, out, err, want)
		}
	}
}

// Each destination is a flow from each source port.
func TestPredictFlows(t *testing.T) {
	f := predictFlags{group: "239.1.1.1+2", port: 6000, source: "192.0.2.1", sourcePorts: []uint{40000, 40001}, destMAC: "52:54:00:00:00:01"}
	got, err := f.flows()
	if err != nil {
		t.Fatal(err)
	}
	var want []bondctl.Flow
	for _, group := range []string{"239.1.1.1", "239.1.1.2"} {
		for _, port := range []uint16{40000, 40001} {
			want = append(want, bondctl.Flow{
				Source: netip.MustParseAddr("192.0.2.1"), SourcePort: port, Destination: netip.MustParseAddr(group), Port: 6000, DestinationMAC: "52:54:00:00:00:01",
			})
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
