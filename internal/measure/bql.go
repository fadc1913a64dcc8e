package measure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// rings read byte queue limits (lib/dynamic_queue_limits.c): how many bytes a driver has taken and not completed. The
// files stay open, and a reading allocates nothing.
type rings struct {
	inflight []*os.File // one a TX queue
	limits   []string   // paths
}

// sysNet is where interfaces have their folders, for the tests.
var sysNet = "/sys/class/net"

// openRings opens those of an interface; nil where the kernel has none (CONFIG_BQL).
func openRings(name string) (*rings, error) {
	files, err := filepath.Glob(filepath.Join(sysNet, name, "queues/tx-*/byte_queue_limits/inflight"))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	r := &rings{}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("byte queue limits: %w", err), r.close())
		}
		r.inflight = append(r.inflight, f)
		r.limits = append(r.limits, filepath.Join(filepath.Dir(path), "limit"))
	}
	return r, nil
}

// read sums the bytes in flight over the queues.
func (r *rings) read() (sum int64, err error) {
	var text [24]byte
	for _, f := range r.inflight {
		n, err := f.ReadAt(text[:], 0)
		if n == 0 {
			return 0, fmt.Errorf("byte queue limits: %w", err)
		}
		sum += digits(text[:n])
	}
	return sum, nil
}

// digits is the number that a text begins with.
func digits(text []byte) (n int64) {
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// used tells whether the driver keeps byte queue limits: they stay 0 where it never tells them anything.
func (r *rings) used() bool {
	for _, path := range r.limits {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			return true
		}
	}
	return false
}

func (r *rings) close() error {
	var errs []error
	for _, f := range r.inflight {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
