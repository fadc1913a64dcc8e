package netns

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes files below a root of the test's own; a name that ends in a slash is a folder.
func tree(t *testing.T, files map[string]string) Running {
	t.Helper()
	root := t.TempDir()
	release := ReadRunning("/").Release
	for name, text := range files {
		name = filepath.Join(root, strings.ReplaceAll(name, "RELEASE", release))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return ReadRunning(root)
}

func TestWhatIsKnownOfAModule(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  Presence
		says  string
	}{
		{"loaded", map[string]string{"sys/module/bonding/version": ""}, Present, ""},
		{"in modules.builtin", map[string]string{"lib/modules/RELEASE/modules.builtin": "kernel/drivers/net/bonding/bonding.ko\n"}, Present, ""},
		{"=y", map[string]string{"boot/config-RELEASE": "CONFIG_BONDING=y\n"}, Present, ""},
		{"a file", map[string]string{"lib/modules/RELEASE/modules.dep": "kernel/net/tls.ko:\nkernel/drivers/net/bonding/bonding.ko.xz: kernel/net/tls.ko\n"}, NotLoaded, "modprobe bonding max_bonds=0"},
		{"only needed by another", map[string]string{"lib/modules/RELEASE/modules.dep": "kernel/other.ko: kernel/drivers/net/bonding/bonding.ko\n"}, Unknown, "nothing here tells whether this kernel"},
		{"=m in a container", map[string]string{"boot/config-RELEASE": "CONFIG_BONDING=m\n"}, NotLoaded, "modprobe bonding max_bonds=0"},
		{"not set", map[string]string{"boot/config-RELEASE": "# CONFIG_BONDING is not set\n"}, Absent, "has no bonding"},
		{"another symbol", map[string]string{"boot/config-RELEASE": "CONFIG_BONDING_EXTRA=y\n"}, Absent, "has no bonding"},
		{"nothing", nil, Unknown, "nothing here tells whether this kernel"},
	} {
		k := tree(t, c.files)
		if got, how := k.Has(bonding); got != c.want || how == "" {
			t.Errorf("%s: %d (%s), want %d", c.name, got, how, c.want)
		}
		err := findBonding(k)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v, want it to say %q", c.name, err, c.says)
		}
	}
}

// VLAN interfaces are looked for in the same way: nothing is loaded, and the reason is one clause.
func TestFindVLAN(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		says  string // empty: it is there
	}{
		{map[string]string{"sys/module/8021q/version": ""}, ""},
		{map[string]string{"boot/config-RELEASE": "CONFIG_VLAN_8021Q=y\n"}, ""},
		{map[string]string{"lib/modules/RELEASE/modules.dep": "kernel/net/8021q/8021q.ko: kernel/net/802/mrp.ko\n"}, "not loaded (modprobe 8021q)"},
		{map[string]string{"boot/config-RELEASE": "CONFIG_VLAN_8021Q=m\nCONFIG_VLAN_8021Q_GVRP=y\n"}, "not loaded (modprobe 8021q)"},
		{map[string]string{"boot/config-RELEASE": "# CONFIG_VLAN_8021Q is not set\n"}, "has not"},
		{nil, "nothing here tells whether this kernel"},
	} {
		err := findVLAN(tree(t, c.files))
		var none *NoVLANError
		if (err == nil) != (c.says == "") || err != nil && (!errors.As(err, &none) || !strings.Contains(err.Error(), c.says) || strings.HasSuffix(err.Error(), ".")) {
			t.Errorf("%v: %v, want it to say %q", c.files, err, c.says)
		}
	}
}

// Where the kernel can make a bond Usable says nothing; here and elsewhere it is one sentence.
func TestUsableIsOneSentence(t *testing.T) {
	err := Usable(t.Context())
	var none *NoBondingError
	if found := FindBonding(); found != nil && !errors.As(err, &none) {
		t.Errorf("%v, but %v", err, found)
	}
	if err == nil {
		return
	}
	if s := err.Error(); strings.ContainsAny(s, "\n") || strings.HasSuffix(s, ".") {
		t.Errorf("no sentence for a list of reasons: %q", s)
	}
	t.Log(err)
}
