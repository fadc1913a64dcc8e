package ifstate

import (
	"runtime"
	"sync"
	"testing"
)

// The loopback interface is "loopback: on [fixed]" in every kernel, and has no channels.
func TestFeaturesOfLoopback(t *testing.T) {
	e, err := openEthtool()
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	all, err := e.features("lo")
	if err != nil {
		t.Fatal(err)
	}
	if f := all["loopback"]; !f.Active || f.Available {
		t.Errorf("loopback: %+v, of %d features", f, len(all))
	}
	if c := e.channels("lo"); c != nil {
		t.Errorf("channels %v", c)
	}
	if mac := e.permanentMAC("lo"); mac != "" {
		t.Errorf("permanent MAC %s", mac)
	}
	if _, err := e.features("no-such-if"); err == nil {
		t.Error("an interface that is not there has features")
	}
}

// The answer comes to where the buffer is, also while stacks are moved.
func TestFeaturesWhileStacksMove(t *testing.T) {
	e, err := openEthtool()
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			deep(200)
			for range 5 {
				runtime.Gosched()
				if f, err := e.features("lo"); err != nil || !f["loopback"].Active {
					t.Errorf("%d features, %v", len(f), err)
				}
			}
		})
		runtime.GC()
	}
	all.Wait()
}

// deep makes the stack grow, so that the next garbage collection shrinks it.
//
//go:noinline
func deep(n int) byte {
	var pad [256]byte
	if n == 0 {
		return pad[n]
	}
	return deep(n-1) + pad[n%256]
}
