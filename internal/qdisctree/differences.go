package qdisctree

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Differences says in one clause each what is otherwise than wanted. Counters, the order of the dump and the interface's own
// attributes don't count.
func Differences(want, have Tree) []string {
	var list []string
	list = append(list, compare(want.Qdiscs, have.Qdiscs, Qdisc.key, Qdisc.differs)...)
	list = append(list, compare(want.Classes, have.Classes, Class.key, Class.differs)...)
	return append(list, compare(want.Filters, have.Filters, Filter.key, func(a, b Filter) string { return "" })...)
}

// compare pairs what has the same key.
func compare[T fmt.Stringer, K comparable](want, have []T, key func(T) K, differs func(want, have T) string) []string {
	var list []string
	for _, w := range want {
		i := slices.IndexFunc(have, func(h T) bool { return key(h) == key(w) })
		if i < 0 {
			list = append(list, w.String()+" is missing")
		} else if d := differs(w, have[i]); d != "" {
			list = append(list, w.String()+" "+d)
		}
	}
	for _, h := range have {
		if !slices.ContainsFunc(want, func(w T) bool { return key(w) == key(h) }) {
			list = append(list, h.String()+" is too much")
		}
	}
	return list
}

type qdiscKey struct {
	kind           string
	handle, parent uint32
}

func (q Qdisc) key() qdiscKey { return qdiscKey{q.Kind, q.Handle, q.Parent} }
func (c Class) key() qdiscKey { return qdiscKey{c.Kind, c.Handle, c.Parent} }
func (f Filter) key() Filter  { return f }

func (q Qdisc) differs(have Qdisc) string {
	return differs(kinds, q.Kind, q.Options, have.Options, q.Extras, have.Extras)
}

func (c Class) differs(have Class) string {
	return differs(classKinds, c.Kind, c.Options, have.Options, c.Extras, have.Extras)
}

func differs(table map[string]kind, name string, want, have []byte, extras, haveExtras []string) string {
	if !slices.Equal(extras, haveExtras) {
		return fmt.Sprintf("has %q instead of %q", haveExtras, extras)
	}
	if bytes.Equal(want, have) {
		return ""
	}
	w, h := strings.Join(wordsOf(table, name, want), " "), strings.Join(wordsOf(table, name, have), " ")
	if w == h {
		w, h = fmt.Sprintf("options %x", want), fmt.Sprintf("%x", have)
	}
	return fmt.Sprintf("should be %s, is %s", w, h)
}

func (f Filter) String() string {
	return fmt.Sprintf("filter %s at %s (pref %d)", f.Kind, filterPlace(f.Parent), f.Priority)
}

// filterPlace writes where filters are.
func filterPlace(parent uint32) string {
	switch {
	case parent == 0:
		return "the root"
	case parent == clsactIngress:
		return "ingress"
	case parent == clsactEgress:
		return "egress"
	case parent&0xffff == 0:
		return handleText(parent)
	}
	return classText(parent)
}
