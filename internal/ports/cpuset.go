package ports

import (
	"fmt"
	"strconv"
	"strings"
)

// cpuSet are CPUs' numbers.
type cpuSet map[int]bool

func (s *cpuSet) add(cpu int) {
	if *s == nil {
		*s = cpuSet{}
	}
	(*s)[cpu] = true
}

// addList adds "0-3,8".
func (s *cpuSet) addList(list string) {
	for _, part := range strings.Split(strings.TrimSpace(list), ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		to := from
		if isRange {
			to, _ = strconv.Atoi(last)
		}
		for cpu := from; cpu <= to; cpu++ {
			s.add(cpu)
		}
	}
}

// wordBits is how many CPUs stand between two commas of a mask.
const wordBits = 32

// addMask adds "00000001,0000000f": 32 CPUs a word, the last word CPUs 0 to 31.
func (s *cpuSet) addMask(mask string) {
	words := strings.Split(strings.TrimSpace(mask), ",")
	for i, text := range words {
		word, _ := strconv.ParseUint(text, 16, wordBits)
		for bit := range wordBits {
			if word>>bit&1 == 1 {
				s.add((len(words)-1-i)*wordBits + bit)
			}
		}
	}
}

// mask writes it as addMask reads it.
func (s cpuSet) mask() string {
	var words []uint32
	for cpu := range s {
		for len(words) <= cpu/wordBits {
			words = append(words, 0)
		}
		words[cpu/wordBits] |= 1 << (cpu % wordBits)
	}
	if len(words) == 0 {
		return "0"
	}
	text := fmt.Sprintf("%x", words[len(words)-1])
	for i := len(words) - 2; i >= 0; i-- {
		text += fmt.Sprintf(",%08x", words[i])
	}
	return text
}
