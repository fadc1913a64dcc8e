package counters

import (
	"fmt"
	"math"
	"strconv"
)

// size writes bytes as sprint_size of iproute2 does: in Kb or Mb (of 1024) where that loses next to nothing.
func size(n uint32) string {
	const kilo, mega = 1024, 1024 * 1024
	f := float64(n)
	if m := math.RoundToEven(f / mega); n >= mega && math.Abs(mega*m-f) < kilo {
		return fmt.Sprintf("%.6gMb", m)
	}
	if k := math.RoundToEven(f / kilo); n >= kilo && math.Abs(kilo*k-f) < 16 {
		return fmt.Sprintf("%.6gKb", k)
	}
	return strconv.FormatUint(uint64(n), 10) + "b"
}

// rate writes bytes a second as print_rate of iproute2 does, in bits of powers of 1000.
func rate(bytesPerSecond uint64) string {
	const kilo = 1000
	bits := bytesPerSecond * 8
	units := [...]string{"", "K", "M", "G", "T"}
	i := 0
	for ; i < len(units)-1; i++ {
		if bits < kilo || bits%kilo != 0 && bits < 1000*kilo {
			break
		}
		bits /= kilo
	}
	return strconv.FormatUint(bits, 10) + units[i] + "bit"
}

// microseconds writes a time as sprint_time of iproute2 does. It takes 32 bits of it, as that does.
func microseconds(us int64) string {
	f := float64(uint32(us))
	switch {
	case f >= 1e6:
		return fmt.Sprintf("%.3gs", f/1e6)
	case f >= 1e3:
		return fmt.Sprintf("%.3gms", f/1e3)
	}
	return strconv.FormatUint(uint64(uint32(us)), 10) + "us"
}

// seconds is microseconds for a number of seconds.
func seconds(s float64) string { return microseconds(int64(math.Round(s * 1e6))) }

// nanoseconds writes a number of seconds as sprint_time64 of iproute2 does.
func nanoseconds(s float64) string {
	ns := math.Round(s * 1e9)
	switch {
	case ns >= 1e9:
		return fmt.Sprintf("%.3gs", ns/1e9)
	case ns >= 1e6:
		return fmt.Sprintf("%.3gms", ns/1e6)
	case ns >= 1e3:
		return fmt.Sprintf("%.3gus", ns/1e3)
	}
	return strconv.FormatInt(int64(ns), 10) + "ns"
}

// percent writes a fraction of 1 as C's "%g%%" of its hundredfold.
func percent(f float64) string { return fmt.Sprintf("%.6g%%", 100*f) }
