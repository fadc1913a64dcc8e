package kbuild

import "regexp"

// quoted are the lines of source that a compiler shows below its message ("  123 | …"): they may hold any words.
var quoted = regexp.MustCompile(`^\s*\d* \|`)

// targetFailed is what make says at the end of each failure, the innermost first.
var targetFailed = regexp.MustCompile(`^make(\[\d+\])?: \*\*\* `)

// sourceErrors are the messages of those that read source, which name the place.
var sourceErrors = []*regexp.Regexp{
	regexp.MustCompile(`^[^\s:]+:\d+(:\d+)?: (fatal )?[Ee]rror: `),                     // gcc, gas
	regexp.MustCompile(`^(cc1|gcc|as|[\w.-]*ld): (fatal )?error: `),                    // without a place
	regexp.MustCompile(`undefined reference to |multiple definition of `),              // ld
	regexp.MustCompile(`^ERROR: (modpost: )?`),                                         // scripts/mod/modpost.c
	regexp.MustCompile(`^\S*Kconfig\S*:\d+:(\d+:)? `),                                  // scripts/kconfig
	regexp.MustCompile(`^[^\s:]+:\d+: \*\*\* `),                                        // make, reading a Makefile
	regexp.MustCompile(`^make(\[\d+\])?: \*\*\* No rule to make target `),              // a file that is not there
	regexp.MustCompile(`^error: objtool: |^\S+: error: objtool: |^FAILED unresolved `), // tools/objtool, tools/bpf/resolve_btfids
}

func matchesAny(list []*regexp.Regexp, s string) bool {
	for _, re := range list {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}
