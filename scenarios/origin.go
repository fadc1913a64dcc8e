package scenarios

import (
	"maps"
	"strings"
)

// place is where a value stands in a file or an assignment.
type place struct {
	file         string
	line, column int
	source       string
	// inner is how many characters after column the value's own characters begin and follow one for one, so
	// that an offset into the value is an offset into the source; -1 when they do not.
	inner int
}

// origins maps field paths to places. Scenarios are copied by value, so a map is never changed once a
// Scenario holds it: with makes a new one.
type origins map[string]place

// with is o and the places of more, less what o knew of the values that root replaces.
func (o origins) with(root string, more origins) origins {
	next := make(origins, len(o)+len(more))
	for path, p := range o {
		if path != root && !strings.HasPrefix(path, root+".") {
			next[path] = p
		}
	}
	maps.Copy(next, more)
	return next
}

// find is the place of path, or of the list it is an element of.
func (o origins) find(path string) (place, bool) {
	for {
		if p, ok := o[path]; ok {
			return p, true
		}
		cut := strings.LastIndexByte(path, '.')
		if cut < 0 {
			return place{}, false
		}
		path = path[:cut]
	}
}

// errorAt is the error for the value at path; offset counts characters into the value.
func (o origins) errorAt(path string, offset int, message string) *Error {
	p, ok := o.find(path)
	if !ok {
		return &Error{Path: path, Message: message}
	}
	e := p.error(path, message)
	if offset > 0 && p.inner >= 0 {
		e.Column += p.inner + offset
	}
	return e
}

func (p place) error(path, message string) *Error {
	return &Error{File: p.file, Line: p.line, Column: p.column, Source: p.source, Path: path, Message: message}
}
