package bondctl

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"text/tabwriter"
)

// textWidth is where a line of options is broken.
const textWidth = 100

// WriteText lays the bonds out for people.
func (s Show) WriteText(w io.Writer) error {
	var b bytes.Buffer
	if len(s.Bonds) == 0 {
		b.WriteString("There is no bond in this network namespace.\n")
	}
	for i, bond := range s.Bonds {
		if i > 0 {
			b.WriteByte('\n')
		}
		bond.write(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (b ShownBond) write(out *bytes.Buffer) {
	fmt.Fprintf(out, "%s: mode %s, state %s, MII %s, MTU %d, MAC %s\n", b.Name, b.Mode, b.State, b.MIIStatus, b.MTU, b.MAC)
	if b.ActiveSlave != "" {
		fmt.Fprintf(out, "  active slave %s\n", b.ActiveSlave)
	}
	if len(b.Addresses) > 0 {
		fmt.Fprintf(out, "  addresses    %s\n", joined(b.Addresses, netip.Prefix.String))
	}
	if len(b.Qdiscs) > 0 {
		fmt.Fprintf(out, "  qdiscs       %s\n", strings.Join(b.Qdiscs, ", "))
	}
	if l := b.LACP; l != nil {
		fmt.Fprintf(out, "  LACP         aggregator %d of %s, actor key %d, partner key %d, partner %s\n",
			l.Aggregator, counted(l.Ports, "port"), l.ActorKey, l.PartnerKey, l.PartnerMAC)
	}
	b.writeOptions(out)
	if len(b.Slaves) == 0 {
		out.WriteString("  no slaves\n")
		return
	}
	b.writeSlaves(out)
}

// writeOptions writes them in the table's order, over as many lines as they need.
func (b ShownBond) writeOptions(out *bytes.Buffer) {
	line := "  options     "
	for _, o := range bondTable {
		value, set := b.Options[o.name]
		if !set {
			continue
		}
		word := " " + o.name + " " + value
		if len(line)+len(word) > textWidth {
			fmt.Fprintln(out, line)
			line = strings.Repeat(" ", 14)
		}
		line += word
	}
	fmt.Fprintln(out, line)
}

// slaveColumn is one of a table with a line for each slave.
type slaveColumn struct {
	head string
	cell func(ShownSlave) string
}

var slaveColumns = []slaveColumn{
	{"slave", func(s ShownSlave) string { return s.Name }},
	{"state", func(s ShownSlave) string { return s.State }},
	{"MII", func(s ShownSlave) string { return s.MIIStatus }},
	{"failures", func(s ShownSlave) string { return strconv.Itoa(s.LinkFailures) }},
	{"Mbit/s", speedText},
	{"duplex", func(s ShownSlave) string { return s.Duplex }},
	{"driver", func(s ShownSlave) string { return s.Driver }},
	{"queue id", func(s ShownSlave) string { return strconv.Itoa(s.QueueID) }},
	{"TX queues", func(s ShownSlave) string { return strconv.Itoa(s.TxQueues) }},
	{"qdiscs", func(s ShownSlave) string { return strings.Join(s.Qdiscs, ",") }},
	{"permanent MAC", func(s ShownSlave) string { return s.PermanentMAC }},
}

// portColumns are those of a second table, of mode 802.3ad.
var portColumns = []slaveColumn{
	{"port", func(s ShownSlave) string { return s.Name }},
	{"aggregator", func(s ShownSlave) string { return strconv.Itoa(s.Aggregator) }},
	{"actor", func(s ShownSlave) string { return strings.Join(s.ActorState, ",") }},
	{"partner", func(s ShownSlave) string { return strings.Join(s.PartnerState, ",") }},
}

func (b ShownBond) writeSlaves(out *bytes.Buffer) {
	writeTable(out, b.Slaves, slaveColumns)
	if b.LACP != nil {
		writeTable(out, b.Slaves, portColumns)
	}
	if !b.InOrder {
		out.WriteString("  (in the order of their numbers: the kernel does not tell in which order they were enslaved)\n")
	}
}

func writeTable(out *bytes.Buffer, slaves []ShownSlave, columns []slaveColumn) {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, c := range columns {
		fmt.Fprint(w, c.head, "\t")
	}
	fmt.Fprintln(w)
	for _, s := range slaves {
		for _, c := range columns {
			cell := c.cell(s)
			if cell == "" {
				cell = "-"
			}
			fmt.Fprint(w, cell, "\t")
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	for line := range strings.Lines(text.String()) {
		fmt.Fprintf(out, "  %s\n", strings.TrimRight(line, " \n"))
	}
}

func speedText(s ShownSlave) string {
	if s.Speed == 0 {
		return "unknown"
	}
	return strconv.Itoa(s.Speed)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func joined[T any](all []T, text func(T) string) string {
	words := make([]string, len(all))
	for i, x := range all {
		words[i] = text(x)
	}
	return strings.Join(words, ", ")
}
