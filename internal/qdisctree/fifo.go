package qdisctree

import "fmt"

// fifoWords are the words of struct tc_fifo_qopt { u32 limit }; unit is that of the limit.
func fifoWords(unit string) func([]byte) []string {
	return func(b []byte) []string { return []string{"limit", fmt.Sprintf("%d%s", u32(b, 0), unit)} }
}
