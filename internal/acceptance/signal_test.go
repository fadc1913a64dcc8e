package acceptance

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A command that is stopped while packets flow leaves nothing behind. One that is killed leaves no process; its files
// go with the next command.
func TestSignals(t *testing.T) {
	need(t)
	tests := []struct {
		signal syscall.Signal
		exit   int
	}{
		{syscall.SIGINT, 130},
		{syscall.SIGTERM, 143},
		{syscall.SIGKILL, -int(syscall.SIGKILL)},
	}
	for _, tt := range tests {
		t.Run(tt.signal.String(), func(t *testing.T) {
			tmp, pcap, results := shortTemp(t), filepath.Join(t.TempDir(), "wire.pcap"), t.TempDir()
			in := start(t, tmp, nil, "run", "bond-multicast-tx", "--testbed", "vm", "--kernel", kernelDeb,
				"--pcap", pcap, "-o", filepath.Join(results, "result.json"), "--set", "topology.slaves.line_rate=100mbit")
			// 4 MiB are a third of a second at that rate.
			flowing := func() bool {
				info, err := os.Stat(pcap)
				return err == nil && info.Size() > 4<<20
			}
			if !eventually(flowing) {
				t.Errorf("no packets flow after a minute")
			}
			if len(marked(tmp)) < 2 {
				t.Errorf("processes %v: the command's QEMU is not among them", marked(tmp))
			}
			if err := in.process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			if code := in.wait(t); code != tt.exit {
				t.Errorf("ended in %d, want %d; it wrote:\n%s", code, tt.exit, in.output())
			}
			if tt.signal == syscall.SIGKILL {
				if !eventually(func() bool { return len(marked(tmp)) == 0 }) {
					t.Errorf("processes left: %v", marked(tmp))
				}
				next := start(t, tmp, nil, "run", "bond-multicast-tx", "--testbed", "vm", "--kernel", kernelDeb,
					"--module", "bonding="+mutant("panic-load"))
				if code := next.wait(t); code != 125 {
					t.Errorf("the next command ended in %d, want 125; it wrote:\n%s", code, next.output())
				}
			}
			nothingLeft(t, tmp)
			if files, err := os.ReadDir(results); err != nil || len(files) > 0 {
				t.Errorf("beside the result that was never reached there are %v (%v)", files, err)
			}
		})
	}
}
