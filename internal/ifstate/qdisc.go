package ifstate

import (
	"bondrepro/internal/qdisctree"
)

// qdiscs puts back the qdisc tree where it differs. The device has its MTU, queue length and flags again, which the kernel
// makes default qdiscs from.
func (r *restorer) qdiscs(i *Interface, l link) error {
	now, err := qdisctree.Read(l.index)
	if err != nil || len(qdisctree.Differences(i.Qdiscs, now)) == 0 || r.ctx.Err() != nil {
		return nil // gone, or as it was
	}
	f := fault{i.Name, "qdisc", ""}
	delete(r.errs, f)
	err = qdisctree.Restore(l.index, i.Qdiscs, func(command string) {
		r.done++
		r.changed(command)
	})
	if err != nil {
		r.errs[f] = err.Error()
	}
	return nil
}

// qdiscDifferences compares qdisc trees.
func (i Interface) qdiscDifferences(now Interface) []Leftover {
	var all []Leftover
	for _, what := range qdisctree.Differences(i.Qdiscs, now.Qdiscs) {
		all = append(all, Leftover{Interface: i.Name, What: "qdisc", Want: "as before", Got: what})
	}
	return all
}
