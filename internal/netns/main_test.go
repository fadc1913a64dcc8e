package netns

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"bondrepro/internal/vmtest"
)

// limit only turns a hang into a failure.
const limit = time.Minute

// What the environment makes of the test binary.
const (
	// panicOnSignal makes the child panic when it gets SIGUSR1.
	panicOnSignal = "BONDREPRO_TEST_NETNS_PANIC"
	// startAndWait makes the test binary start a place, print the child's pid, and wait to be killed.
	startAndWait = "BONDREPRO_TEST_NETNS_WAIT"
)

func TestMain(m *testing.M) {
	switch {
	case Child():
		if os.Getenv(panicOnSignal) != "" {
			heard := make(chan os.Signal, 1)
			signal.Notify(heard, syscall.SIGUSR1)
			go func() {
				<-heard
				panic("on purpose")
			}()
		}
		Main()
	case os.Getenv(startAndWait) != "":
		p, err := Start(context.Background(), Config{Slaves: 2, Partner: true})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(p.Pid())
		select {}
	}
	vmtest.Main(m)
}

// place is a running one that ends with the test.
func place(t *testing.T, c Config) *Place {
	t.Helper()
	p, err := tryPlace(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryPlace(t *testing.T, c Config) (*Place, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	p, err := Start(ctx, c)
	if err == nil {
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return p, err
}
