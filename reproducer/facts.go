package reproducer

import "bondrepro/reproducer/result"

// Facts are the machine and, where one came up, the guest: nil where the running kernel is measured.
func (s *Session) Facts() (result.Host, *result.Guest) { return s.facts() }
