package testbed

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"bondrepro/internal/exitcode"
	"bondrepro/internal/guestproto"
	"bondrepro/internal/kernel"
	"bondrepro/internal/vm"
)

func TestProve(t *testing.T) {
	given := func(swapped bool) []kernel.Module {
		return []kernel.Module{
			{Name: "virtio_net", File: "virtio_net.ko", BuildID: "aa"},
			{Name: "bonding", File: "mine/bonding.ko", BuildID: "bb", Swapped: swapped},
		}
	}
	hello := func(change func(*guestproto.Hello)) guestproto.Hello {
		h := guestproto.Hello{Release: "6.1.0", BuildID: "kk", Modules: []guestproto.Module{{Name: "virtio_net", BuildID: "aa"}, {Name: "bonding", BuildID: "bb"}}}
		if change != nil {
			change(&h)
		}
		return h
	}
	var kernelFault *KernelError
	var usage *UsageError
	for _, c := range []struct {
		name    string
		modules []kernel.Module
		hello   guestproto.Hello
		fails   any
		says    string
	}{
		{"all as given", given(true), hello(nil), nil, ""},
		{"another release", given(true), hello(func(h *guestproto.Hello) { h.Release = "5.10" }), &kernelFault, "runs 5.10, but the kernel given is 6.1.0"},
		{"another kernel of that release", given(true), hello(func(h *guestproto.Hello) { h.BuildID = "xx" }), &kernelFault, "build id xx"},
		{"a kernel without a build id", given(true), hello(func(h *guestproto.Hello) { h.BuildID = "" }), nil, ""},
		{"another module than the one under test", given(true), hello(func(h *guestproto.Hello) { h.Modules[1].BuildID = "yy" }), &kernelFault, "not the module under test"},
		{"a module under test without a build id", given(true), hello(func(h *guestproto.Hello) { h.Modules[1].BuildID = "" }), &kernelFault, "not the module under test"},
		{"a module that is not loaded", given(true), hello(func(h *guestproto.Hello) { h.Modules = h.Modules[:1] }), &kernelFault, "bonding was given to the guest but is not loaded"},
		{"a module under test that is built in", given(true), hello(func(h *guestproto.Hello) {
			h.Modules = h.Modules[:1]
			h.Problems = []guestproto.Problem{{Module: "bonding", AlreadyThere: true}}
		}), &usage, "bonding is built into this kernel: --module bonding=mine/bonding.ko"},
		{"another that is built in", given(false), hello(func(h *guestproto.Hello) {
			h.Modules = h.Modules[:1]
			h.Problems = []guestproto.Problem{{Module: "bonding", AlreadyThere: true}}
		}), nil, ""},
		{"a module that the kernel refuses", given(true), hello(func(h *guestproto.Hello) {
			h.Problems = []guestproto.Problem{{Module: "bonding", Text: "init_module bonding: invalid argument"}}
		}), &kernelFault, "init_module bonding: invalid argument"},
		{"no IPv6 to turn off", given(true), hello(func(h *guestproto.Hello) {
			h.Problems = []guestproto.Problem{{Sysctl: "net.ipv6.conf.all.disable_ipv6", Text: "no such file"}}
		}), nil, ""},
	} {
		proven, err := prove("6.1.0", "kk", c.modules, c.hello)
		if c.fails == nil {
			if err != nil || len(proven) == 0 || !proven[0].Proven {
				t.Errorf("%s: %+v, %v", c.name, proven, err)
			}
			continue
		}
		if !errors.As(err, c.fails) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", c.name, err, c.says)
		}
	}
}

// A module that is not under test may differ from its file (a package's own build id is not always there), and
// then says so.
func TestProveMarksWhatIsNotProven(t *testing.T) {
	modules := []kernel.Module{{Name: "virtio_net", BuildID: "aa"}}
	h := guestproto.Hello{Release: "6.1.0", Modules: []guestproto.Module{{Name: "virtio_net", BuildID: "zz"}}}
	proven, err := prove("6.1.0", "", modules, h)
	if err != nil || len(proven) != 1 || proven[0].Proven {
		t.Errorf("%+v, %v", proven, err)
	}
}

func TestClassify(t *testing.T) {
	var kernelFault *KernelError
	var usage *UsageError
	for _, c := range []struct {
		err  error
		want any
	}{
		{&kernel.MissingModulesError{Release: "6.1.0", Names: []string{"bonding"}}, &kernelFault},
		{fmt.Errorf("boot: %w", &vm.KernelError{Reason: "panicked"}), &kernelFault},
		{&kernel.UsageError{Message: "it is no kernel"}, &usage},
	} {
		if got := classify(c.err); !errors.As(got, c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v became %T", c.err, got)
		}
	}
	for err, code := range map[error]int{
		&vm.GuestError{What: "panic: on purpose"}:     exitcode.Panicked,
		&vm.QEMUError{Err: errors.New("killed")}:      exitcode.Usage,
		&vm.NoQEMUError{Program: "qemu", Why: "gone"}: exitcode.Usage,
	} {
		if got := exitcode.Of(classify(err)); got != code {
			t.Errorf("%v: exit code %d, want %d", err, got, code)
		}
	}
	if classify(nil) != nil {
		t.Error("no error became one")
	}
}
