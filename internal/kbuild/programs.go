package kbuild

import (
	"errors"

	"bondrepro/internal/osrun"
)

// programs are what every kernel's build runs; what else a config needs is told by the build itself (machineFaults).
var (
	configPrograms = []string{"make", "gcc", "ld", "flex", "bison"}
	modulePrograms = []string{"make", "ld"} // the compiler may be another than gcc: the headers name it
)

// look is an error for the first program that is not there.
func look(programs []string) error {
	for _, p := range programs {
		if _, err := osrun.Look(p); errors.Is(err, osrun.ErrNotFound) {
			return missing(p)
		} else if err != nil {
			return err
		}
	}
	return nil
}
