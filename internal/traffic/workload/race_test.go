//go:build race

package workload

// What the race detector notes counts as allocated.
func init() { raceDetector = true }
