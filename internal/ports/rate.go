package ports

// What the line carries beside a frame's bytes: FCS 4, preamble and start 8, inter-packet gap 12 (IEEE 802.3, 4.2.3 and
// 4.4.2). A frame shorter than minFrame (without FCS) is padded to it.
const (
	lineOverhead = 24
	minFrame     = 60
	mega         = 1e6
)

// LineRate is what the port carries of frames of this size, in bits/s of layer-2 bytes without FCS and gap: the unit of
// every rate of a scenario. 0 when the port's speed is not known.
func LineRate(f Facts, frameBytes int) float64 {
	speed := float64(f.SpeedMbit) * mega
	if frameBytes <= 0 {
		return speed
	}
	return speed * float64(frameBytes) / (float64(max(frameBytes, minFrame)) + lineOverhead)
}
