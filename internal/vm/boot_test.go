package vm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bondrepro/internal/initramfs"
	"bondrepro/internal/kernel"
	"bondrepro/internal/vm"
)

// needed are the modules that a measurement needs.
var needed = []string{"virtio_pci", "virtio_net", "bonding", "sch_netem", "sch_tbf", "cls_matchall", "act_gact", "sch_ingress", "veth"}

// debian is the Debian kernel in the cache, with the modules needed.
func debian(ctx context.Context) (vm.Config, error) {
	self, err := os.Executable()
	if err == nil {
		err = initramfs.CheckStatic(self)
	}
	if err != nil {
		return vm.Config{}, fmt.Errorf("%w (make test sets CGO_ENABLED=0)", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return vm.Config{}, err
	}
	pattern := filepath.Join(cache, "bondrepro", "kernels", "linux-image-[0-9]*cloud-amd64_*.deb")
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return vm.Config{}, fmt.Errorf("there is no kernel package %s: tools/fetch-kernel fetches one, as make test does", pattern)
	}
	k, err := kernel.Open(ctx, found[0], kernel.Options{})
	if err != nil {
		return vm.Config{}, err
	}
	modules, err := k.Resolve(needed, nil)
	return vm.Config{
		Image: k.Image, Self: self, Modules: modules,
		ModuleParams: map[string]string{"bonding": "max_bonds=0"},
		Sysctls:      map[string]string{"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"},
	}, err
}

// config is debian's, changed by the test.
func config(t *testing.T, change func(*vm.Config)) vm.Config {
	t.Helper()
	if testing.Short() {
		t.Skip("boots a guest")
	}
	c, err := debian(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Progress = func(s string) { t.Log(s) }
	if change != nil {
		change(&c)
	}
	return c
}

// boot boots a guest that is closed with the test.
func boot(t *testing.T, change func(*vm.Config)) *vm.Machine {
	t.Helper()
	m, err := vm.Start(t.Context(), config(t, change))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("hello after %.0f ms, %s: %s", m.BootMS(), m.Accelerator().Name, m.Accelerator().Why)
	return m
}
