package vm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bondrepro/internal/initramfs"
	"bondrepro/internal/kernel"
	"bondrepro/internal/vm"
)

const bootAndWait = "BONDREPRO_TEST_BOOT_AND_WAIT"

func bootThenWait() int { return 0 }

func boot(t *testing.T, change func(*vm.Config)) *vm.Machine {
	c := vm.Config{
		Self: self(t), NICs: 2,
		Sysctls:      map[string]string{"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"},
		ModuleParams: map[string]string{"bonding": "max_bonds=0"},
		Progress:     func(s string) { t.Log(s) },
	}
	var err error
	if c.Image, c.Modules, err = debian(t.Context()); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&c)
	}
	m, err := vm.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// self is this test binary, which must be static to be the guest's init.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err == nil {
		err = initramfs.CheckStatic(path)
	}
	if err != nil {
		t.Fatalf("%v (make test sets CGO_ENABLED=0)", err)
	}
	return path
}

// debian is the Debian kernel that make test-kernel-fetch put into the cache.
func debian(ctx context.Context) (image string, modules []kernel.Module, err error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	pattern := filepath.Join(dir, "bondrepro", "kernels", "linux-image-*cloud-amd64*.deb")
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return "", nil, fmt.Errorf("no kernel package %s; make kernel fetches one", pattern)
	}
	k, err := kernel.Open(ctx, found[0], kernel.Options{})
	if err != nil {
		return "", nil, err
	}
	modules, err = k.Resolve([]string{"virtio_pci", "virtio_net", "bonding", "sch_netem", "sch_tbf", "cls_matchall", "act_gact", "sch_ingress", "veth"}, nil)
	return k.Image, modules, err
}

func TestQuick(t *testing.T) {
	m := boot(t, nil)
	t.Logf("%v ms, accel %+v, %+v", m.BootMS(), m.Accelerator(), m.Hello())
	for _, n := range []int{1000, 64 << 10, 512 << 10} {
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		b := noise(n)
		began := time.Now()
		var out string
		if err := m.Call(ctx, "give", n, &out, nil); err != nil || out != b {
			t.Error(err)
		}
		give := time.Since(began)
		began = time.Now()
		var got int
		if err := m.Call(ctx, "take", b, &got, nil); err != nil || got != n {
			t.Error(err)
		}
		t.Log(n, "guest to host", give, "host to guest", time.Since(began))
		cancel()
	}
}
