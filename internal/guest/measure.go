package guest

import (
	"context"
	"encoding/json"

	"bondrepro/internal/measure"
)

// Handlers are the calls of a guest that measures.
func Handlers() map[string]Handler {
	serve := func(kind string) Handler {
		return func(ctx context.Context, body json.RawMessage, _ func(string, any)) (any, error) {
			return measure.Serve(ctx, kind, body)
		}
	}
	return map[string]Handler{
		measure.KindProbe:   serve(measure.KindProbe),
		measure.KindMeasure: serve(measure.KindMeasure),
		measure.KindSample:  serve(measure.KindSample),
	}
}
