package vm_test

import (
	"testing"
	"time"

	"bondrepro/internal/vm"
)

// As many NICs as there may be, the first cabled to the last; and what the guest's kernel complains of.
func TestCableAndComplaints(t *testing.T) {
	m := boot(t, func(c *vm.Config) {
		c.NICs = 16
		c.Cables = [][2]int{{0, 15}}
	})
	testCable(t, m, 0, 15)
	testCable(t, m, 15, 0)
	const complaint = "eth0 selects TX queue 7, but real number of TX queues is 4"
	if err := call(t, m, "log", complaint, nil); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(callLimit); len(m.Complaints()) == 0 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	if got := m.TakeComplaints(); len(got) != 1 || got[0] != complaint {
		t.Errorf("complaints %q", got)
	}
}

// testCable sends a frame from one NIC to the other, and looks for it on the sender's line, too.
func testCable(t *testing.T, m *vm.Machine, from, to int) {
	t.Helper()
	m.Wire().Begin(1, vm.Traffic(1), 0)
	var got []byte
	if err := call(t, m, "cable", cableJob{From: from, To: to}, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 124 || got[12] != 0x88 || got[13] != 0x09 || got[14] != 0xfe {
		t.Errorf("NIC %d received %x", to, got)
	}
	for i, s := range m.Wire().End().Slaves {
		if n := s.Foreign["lacp"]; (n == 1) != (i == from) {
			t.Errorf("line %d counted %d slow frames", i, n)
		}
	}
}

// Two bonds in one guest agree by LACP over the cables, whichever kind of line carries them.
func TestBondsAgreeOverCables(t *testing.T) {
	for name, n := range map[string]int{"one queue": 1, "four queues": queues} {
		t.Run(name, func(t *testing.T) {
			m := boot(t, func(c *vm.Config) {
				c.NICs, c.Queues, c.LinkSpeed = 4, n, 10000
				c.Cables = [][2]int{{0, 2}, {1, 3}}
			})
			m.Wire().Begin(1, vm.Traffic(1), 0)
			var r bondsReply
			if err := call(t, m, "bonds", nil, &r); err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", r)
			for i, s := range m.Wire().End().Slaves {
				if s.Foreign["lacp"] == 0 {
					t.Errorf("line %d counted no LACPDU: %v", i, s.Foreign)
				}
			}
		})
	}
}
