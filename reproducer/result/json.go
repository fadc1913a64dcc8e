package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Encode writes the result as one JSON document, ending in a newline.
func Encode(w io.Writer, r Result) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Decode reads what Encode wrote. The name is for the error, which says what is wrong in one sentence: no JSON,
// no result, or a schema this version does not know.
func Decode(name string, data []byte) (Result, error) {
	var schema struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		return Result{}, fmt.Errorf("%s: not a result file: %w", name, position(data, err))
	}
	switch {
	case schema.Schema == nil:
		return Result{}, fmt.Errorf("%s: not a result file: it is JSON without a schema version", name)
	case *schema.Schema != Schema:
		return Result{}, fmt.Errorf("%s: its schema is version %d and this program reads version %d: use the bondrepro that wrote it", name, *schema.Schema, Schema)
	}
	var r Result
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Result{}, fmt.Errorf("%s: not a result file: %w", name, position(data, err))
	}
	if len(r.Arms) == 0 {
		return Result{}, fmt.Errorf("%s: it holds no arm, so there is nothing to judge", name)
	}
	return r, nil
}

// position adds line and column to an error of encoding/json that knows its offset.
func position(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	if offset < 0 || offset > int64(len(data)) {
		return err
	}
	before := data[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %w", line, column-1, err)
}
