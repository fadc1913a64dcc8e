package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bondrepro/internal/guest"
)

// The environment that make sets; see the package's comment.
var (
	wanted     = os.Getenv("BONDREPRO_ACCEPTANCE") == "1"
	kernelDeb  = os.Getenv("BONDREPRO_KERNEL")
	mutants    = os.Getenv("BONDREPRO_MUTANTS")
	headers    = os.Getenv("BONDREPRO_HEADERS")
	soakReport = os.Getenv("BONDREPRO_SOAK_REPORT")
)

// binary is the command under test.
var binary, _ = filepath.Abs("../../bin/bondrepro")

// report collects what becomes docs/soak.md.
var report soak

func TestMain(m *testing.M) {
	if guest.Booted() { // see netns_test.go
		guest.Main(guest.Handlers())
	}
	if wanted {
		for what, path := range map[string]string{"the command": binary, "BONDREPRO_KERNEL": kernelDeb, "BONDREPRO_MUTANTS": mutants, "BONDREPRO_HEADERS": headers} {
			if _, err := os.Stat(path); err != nil {
				fmt.Fprintf(os.Stderr, "%s is not there: %v; run make test-kernel\n", what, err)
				os.Exit(1)
			}
		}
	}
	code := m.Run()
	removeFixtures()
	os.Exit(code)
}

// need skips a test that was not asked for.
func need(t *testing.T) {
	t.Helper()
	if !wanted {
		t.Skip("boots kernels for minutes; make test-kernel sets BONDREPRO_ACCEPTANCE=1 and what else it needs")
	}
}
