package scenarios

import (
	"slices"
	"strings"
	"unicode"
)

// generalRules are about what all scenarios have.
var generalRules = []rule{
	func(s *Scenario) *problem {
		if s.Name == "" || len(s.Name) > 64 || strings.ContainsFunc(s.Name, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r))
		}) {
			return bad("name", "%q is not a name; write 1 to 64 letters, digits, dashes, dots or underscores", s.Name)
		}
		return nil
	},
	func(s *Scenario) *problem {
		if strings.ContainsFunc(s.Summary, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return bad("summary", "must be one line of printable text")
		}
		return nil
	},
	func(s *Scenario) *problem {
		if s.OnBond() && s.Traffic.Warmup >= s.Traffic.Duration {
			return bad("traffic.warmup", "%s is not less than traffic.duration %s; nothing would be left to measure", s.Traffic.Warmup, s.Traffic.Duration).also("traffic.duration")
		}
		return nil
	},
	func(s *Scenario) *problem {
		for _, feature := range sortedKeys(s.Offload) {
			path := "offload." + feature
			if !slices.Contains(offloads, feature) && !strings.Contains(feature, "-") {
				return bad(path, "is no offload%s (short names: %s; or a long name as ethtool -k prints it)", didYouMean(feature, offloads), strings.Join(offloads, ", "))
			}
			if strings.ContainsFunc(feature, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-') }) {
				return bad(path, "is no name of an offload; such names have small letters, digits and dashes")
			}
			if v := s.Offload[feature]; v != "on" && v != "off" {
				return bad(path, "%q is not on or off", v)
			}
		}
		return nil
	},
}

// offloads are the short names ethtool -K knows (ethtool(8)).
var offloads = []string{"rx", "tx", "sg", "tso", "gso", "gro", "lro", "rxvlan", "txvlan", "ntuple", "rxhash"}
