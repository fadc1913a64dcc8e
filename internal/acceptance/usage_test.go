package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Everything that is wrong with the call, the files or the machine ends in 128, before a verdict.
func TestUsage(t *testing.T) {
	need(t)
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("name: bad\ntraffic: {senders: [}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	builtIn := append(tree(t, builtInBonding), "--module", "bonding="+mutant("orphan"))
	stock := []string{"--kernel", kernelDeb}
	bare := tree(t, withoutNetem)[:2] // --kernel IMAGE, its modules left out
	tests := []struct {
		name string
		what string // scenario or file
		args []string
		env  []string
		says string
	}{
		{name: "bonding built in", what: "bond-multicast-tx", args: builtIn, says: `bonding.*built in|built into`},
		{name: "bad YAML", what: bad, args: stock, says: `bad\.yaml(?s:.*)2(?s:.*)\^`},
		{name: "unknown scenario", what: "no-such-scenario", args: stock, says: `no-such-scenario`},
		{name: "unknown field", what: "bond-multicast-tx", args: append(set("topology.bnod.mode=broadcast"), stock...), says: `bnod`},
		{name: "impossible value", what: "bond-multicast-tx", args: append(set("traffic.senders=0"), stock...), says: `senders`},
		{name: "no QEMU", what: "bond-multicast-tx", args: stock, env: []string{"PATH=/nonexistent"}, says: `(?i)qemu`},
		{name: "a file that is no kernel", what: "bond-multicast-tx", args: []string{"--kernel", "../../LICENSE"}, says: `LICENSE`},
		{name: "an image without its modules", what: "bond-multicast-tx", args: bare, says: `--modules DIR`},
		{name: "no such kernel file", what: "bond-multicast-tx", args: []string{"--kernel", "/nonexistent/vmlinuz"}, says: `/nonexistent/vmlinuz`},
		{name: "no such module file", what: "bond-multicast-tx", args: append([]string{"--module", "bonding=/nonexistent.ko"}, stock...), says: `/nonexistent\.ko`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "result.json")
			in := once(t, 128, tt.env, append([]string{"run", tt.what, "--testbed", "vm", "-o", file}, tt.args...)...)
			if !regexp.MustCompile(tt.says).MatchString(in.stderr.String()) {
				t.Errorf("it does not say %s: %s", tt.says, in.stderr.String())
			}
			t.Log(in.stderr.String())
			if _, err := os.Stat(file); !os.IsNotExist(err) {
				t.Errorf("it wrote a result (%v)", err)
			}
		})
	}
}
