package vm

import (
	"fmt"
	"os"
)

// lineEnds are the two ends of every line: the ports are ours, and QEMU is given the files or the sockets' names.
type lineEnds struct {
	ports   []port
	vhosts  []*vhost // the ports of NICs with several queues, each to be served
	files   []*os.File
	sockets []string // nil: the files
}

// openLines makes the lines of a machine. failed is told when one can't go on. The ends are to be closed also when
// there is an error.
func openLines(c Config, failed func(error)) (e lineEnds, err error) {
	if c.Joined {
		return e, nil // both ends of a cable are in QEMU
	}
	for i := range c.NICs {
		if c.Queues == 1 {
			ours, theirs, err := linePair()
			if err != nil {
				return e, err
			}
			e.ports = append(e.ports, ours)
			e.files = append(e.files, os.NewFile(uintptr(theirs), fmt.Sprintf("line %d", i)))
			continue
		}
		d, err := newDial()
		if err != nil {
			return e, err
		}
		v := newVhost(i, c.Queues, d, failed)
		e.ports = append(e.ports, v)
		e.vhosts = append(e.vhosts, v)
		e.sockets = append(e.sockets, d.name)
	}
	return e, nil
}

// closeFiles closes QEMU's ends here, once QEMU has them.
func (e lineEnds) closeFiles() {
	for _, f := range e.files {
		f.Close()
	}
}

func (e lineEnds) closePorts() {
	for _, p := range e.ports {
		p.close()
	}
}
