package netns

import (
	"fmt"
	"net"
)

// Config says which place to make.
type Config struct {
	Slaves  int  `json:"slaves"`
	Queues  int  `json:"queues"`  // TX queues of each slave; 0 stands for 1
	Partner bool `json:"partner"` // as many interfaces more for a second bond, cabled to the slaves for LACP
}

// facts are what was made.
type facts struct {
	Slaves  []string `json:"slaves"`            // MAC addresses
	Partner []string `json:"partner,omitempty"` // MAC addresses, in the order of the slaves they are cabled to
	Notes   []string `json:"notes,omitempty"`   // what could not be made as wanted, in whole sentences
}

// pair is a veth pair: its near end is an interface of a bond, its far end is where the line comes out.
type pair struct {
	near, far string
	mac       net.HardwareAddr // of the near end
}

// pairs are those of the slaves, then those of the partner.
func (c Config) pairs() []pair {
	var list []pair
	add := func(kind byte) {
		for i := range c.Slaves {
			n := len(list)
			list = append(list, pair{
				near: fmt.Sprintf("eth%d", n),
				far:  fmt.Sprintf("far%d", n),
				// Locally administered (IEEE 802: the second bit of the first byte).
				mac: net.HardwareAddr{0x02, 0x00, 0x00, 0xb0, kind, byte(i + 1)},
			})
		}
	}
	add(0)
	if c.Partner {
		add(1)
	}
	return list
}

func macs(pairs []pair) []string {
	list := make([]string, 0, len(pairs))
	for _, p := range pairs {
		list = append(list, p.mac.String())
	}
	return list
}
