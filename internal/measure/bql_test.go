package measure

import (
	"os"
	"path/filepath"
	"testing"
)

// queueTree makes the files of byte queue limits of an interface, one queue for each pair of inflight and limit.
func queueTree(t *testing.T, queues ...[2]string) {
	t.Helper()
	sysNet = t.TempDir()
	t.Cleanup(func() { sysNet = "/sys/class/net" })
	for n, q := range queues {
		dir := filepath.Join(sysNet, "eth0/queues", "tx-"+string(rune('0'+n)), "byte_queue_limits")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"inflight", "limit"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(q[i]+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestRings(t *testing.T) {
	queueTree(t, [2]string{"4042", "0"}, [2]string{"12126", "30000"})
	r, err := openRings("eth0")
	if err != nil || r == nil {
		t.Fatal(r, err)
	}
	defer r.close()
	if sum, err := r.read(); err != nil || sum != 16168 {
		t.Errorf("%d bytes in flight (%v), want 16168", sum, err)
	}
	if err := os.WriteFile(filepath.Join(sysNet, "eth0/queues/tx-1/byte_queue_limits/inflight"), []byte("0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if sum, err := r.read(); err != nil || sum != 4042 {
		t.Errorf("%d bytes in flight later (%v), want 4042", sum, err)
	}
	if !r.used() {
		t.Error("a queue has a limit, so the driver keeps byte queue limits")
	}
	if n := testing.AllocsPerRun(100, func() { r.read() }); n != 0 {
		t.Errorf("a reading allocates %v times", n)
	}
}

// A driver that never tells anything leaves all limits at 0; a kernel without byte queue limits has no files.
func TestRingsOfOtherDrivers(t *testing.T) {
	queueTree(t, [2]string{"0", "0"}, [2]string{"0", "0"})
	r, err := openRings("eth0")
	if err != nil || r.used() {
		t.Errorf("a driver that tells nothing: used %v, %v", r.used(), err)
	}
	defer r.close()
	if r, err := openRings("eth9"); r != nil || err != nil {
		t.Errorf("no files: %v, %v", r, err)
	}
}
