//go:build race

package traffic

// sync.Pool, which x/net uses, loses some of what it is given on purpose.
func init() { raceDetector = true }
