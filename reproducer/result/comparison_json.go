package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// EncodeComparison writes the comparison as one JSON document, ending in a newline.
func EncodeComparison(w io.Writer, c Comparison) error { return encodeDocument(w, c) }

func encodeDocument(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// KindOf is the kind that a document names (KindComparison, KindSweep, KindSearch); "" for a Result, and for what is no document.
func KindOf(data []byte) string {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return ""
	}
	return head.Kind
}

// DecodeComparison reads what EncodeComparison wrote. The name is for the error, which is one sentence.
func DecodeComparison(name string, data []byte) (Comparison, error) {
	var c Comparison
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return c, fmt.Errorf("%s: not a comparison's file: %w", name, position(data, err))
	}
	if head.Schema != ComparisonSchema {
		return c, fmt.Errorf("%s: its schema is version %d and this program reads version %d: use the bondrepro that wrote it", name, head.Schema, ComparisonSchema)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("%s: not a comparison's file: %w", name, position(data, err))
	}
	return c, nil
}
