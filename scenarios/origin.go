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

// with is o and the places of more, less what o knew of the values that more replaces.
func (o origins) with(more origins) origins {
	next := make(origins, len(o)+len(more))
	for path, p := range o {
		if _, replaced := more.find(path); !replaced {
			next[path] = p
		}
	}
	maps.Copy(next, more)
	return next
}

// find is the place of path, or of the list it is an element of.
func (o origins) find(path string) (place, bool) {
	for path != "" {
		if p, ok := o[path]; ok {
			return p, true
		}
		path, _ = cutLast(path)
	}
	return place{}, false
}

// cutLast parts a path from its last name.
func cutLast(path string) (parent, last string) {
	cut := strings.LastIndexByte(path, '.')
	return path[:max(cut, 0)], path[cut+1:]
}

// error is an error about the value at the place.
func (p place) error(path, message string) *Error {
	return &Error{File: p.file, Line: p.line, Column: p.column, Source: p.source, Path: path, Message: message}
}
