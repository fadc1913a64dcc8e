package netns

import (
	"encoding/json"

	"bondrepro/internal/measure"
)

// kindSetup is the first call; the others are measure's.
const kindSetup = "make the private namespaces"

// request and response are what parent and child say over the channel, as JSON, one call at a time.
type request struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

type response struct {
	measure.Reply
	// Error is what failed in the place itself, not in the measurement.
	Error string `json:"error,omitempty"`
}
