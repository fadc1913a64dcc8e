package result

import "fmt"

// BitRate writes a rate in bits a second for people: 99.8 Mbit/s.
func BitRate(r float64) string {
	for _, u := range []struct {
		unit string
		size float64
	}{{"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}} {
		if r >= u.size {
			return fmt.Sprintf("%.4g %s", r/u.size, u.unit)
		}
	}
	return fmt.Sprintf("%.3g bit/s", r)
}
