package bondctl

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"text/tabwriter"

	"bondrepro/internal/xmithash"
)

// WriteText lays the prediction out for people: how it was made, one line a flow, then how many flows each slave has.
func (p Prediction) WriteText(out io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: mode %s: %s\n", p.Bond, p.Mode, p.How)
	fmt.Fprintf(&b, "slaves that can send: %s\n", strings.Join(p.Slaves, ", "))
	if p.Formula != "" {
		fmt.Fprintf(&b, "policy %s, computed as in %s (running: %s)\n", p.Policy, p.Formula, p.Kernel)
		if p.Formula != xmithash.Formulas[0].Kernels {
			b.WriteString("A distribution's kernel may compute as a later one does.\n")
		}
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nfrom\tto\tslave")
	each := map[string]int{}
	for _, f := range p.Flows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", endpoint(f.Source, f.SourcePort), endpoint(f.Destination, f.Port), strings.Join(f.Slaves, ", "))
		for _, s := range f.Slaves {
			each[s]++
		}
	}
	w.Flush()
	if p.Formula != "" {
		b.WriteString("\n" + joined(p.Slaves, func(s string) string { return s + " " + counted(each[s], "flow") }) + "\n")
	}
	_, err := out.Write(b.Bytes())
	return err
}

// endpoint is ADDR:PORT, with * for what is not known.
func endpoint(a netip.Addr, port uint16) string {
	switch {
	case !a.IsValid() && port == 0:
		return "*"
	case !a.IsValid():
		return fmt.Sprintf("*:%d", port)
	case port == 0:
		return a.String() + ":*"
	}
	return netip.AddrPortFrom(a, port).String()
}
