package kbuild

import (
	"slices"
	"strings"
	"testing"
)

func TestFragmentIsInOrder(t *testing.T) {
	seen := map[string]bool{}
	for group := range strings.SplitSeq(strings.TrimSpace(Fragment()), "\n\n") {
		if !strings.HasPrefix(group, "# ") || strings.HasPrefix(group, "# CONFIG_") {
			t.Errorf("a group without a comment that says why:\n%s", group)
		}
	}
	options := parseConfig(Fragment())
	for name := range loadable {
		if !slices.ContainsFunc(options, func(o option) bool { return o.name == name }) {
			t.Errorf("%s can be loaded, and is not in the fragment", name)
		}
	}
	for _, o := range options {
		if seen[o.name] || o.value != "y" && o.value != "n" {
			t.Errorf("%s=%s: an option is there once, built in or left out", o.name, o.value)
		}
		seen[o.name] = true
	}
	lines := strings.Count(Fragment(), "\nCONFIG_") + strings.Count(Fragment(), " is not set\n")
	if len(options) != lines || lines < 30 {
		t.Errorf("%d options in %d lines", len(options), lines)
	}
}

func TestMerge(t *testing.T) {
	merged := merge("# comment\nCONFIG_BONDING=m\n# CONFIG_NET is not set\nCONFIG_BONDING_X=m\nCONFIG_LOCALVERSION=\"-a\"\nCONFIG_LOCALVERSION_AUTO=y\n")
	for text, want := range map[string]int{
		"# comment\n": 1, "CONFIG_BONDING=": 1, "CONFIG_BONDING=y\n": 1, "# CONFIG_NET is": 0, "CONFIG_NET=y\n": 1,
		"CONFIG_BONDING_X=m\n": 1, "CONFIG_LOCALVERSION=\"-a\"\n": 1, "CONFIG_LOCALVERSION_AUTO=y\n": 0,
	} {
		if got := strings.Count("\n"+merged, "\n"+strings.TrimPrefix(text, "\n")); got != want {
			t.Errorf("%q is there %d times, want %d", text, got, want)
		}
	}
}

func TestLost(t *testing.T) {
	without := func(line, instead string) string { return strings.Replace(fragment, line+"\n", instead, 1) }
	tests := map[string]struct {
		config         string
		needed, useful []string
	}{
		"all":                  {fragment, nil, nil},
		"one is gone":          {without("CONFIG_BONDING=y", ""), []string{"CONFIG_BONDING"}, nil},
		"one is off":           {without("CONFIG_BONDING=y", "# CONFIG_BONDING is not set\n"), []string{"CONFIG_BONDING"}, nil},
		"one can be loaded":    {without("CONFIG_BONDING=y", "CONFIG_BONDING=m\n"), nil, nil},
		"one is a module":      {without("CONFIG_BINFMT_ELF=y", "CONFIG_BINFMT_ELF=m\n"), []string{"CONFIG_BINFMT_ELF"}, nil},
		"a useful one is gone": {without("CONFIG_KVM_GUEST=y", ""), nil, []string{"CONFIG_KVM_GUEST"}},
		"what must be off is":  {without("# CONFIG_LOCALVERSION_AUTO is not set", ""), nil, nil},
		"what must be off":     {without("# CONFIG_LOCALVERSION_AUTO is not set", "CONFIG_LOCALVERSION_AUTO=y\n"), []string{"CONFIG_LOCALVERSION_AUTO"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			needed, useful := lost(tt.config)
			if !slices.Equal(needed, tt.needed) || !slices.Equal(useful, tt.useful) {
				t.Errorf("got %v and %v", needed, useful)
			}
		})
	}
}
