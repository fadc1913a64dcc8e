package scenarios

import (
	"encoding"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// What each text form means, and how the value is written again.
func TestTextForms(t *testing.T) {
	size := func(n int64) *Size { s := Size(n); return &s }
	duration := func(d time.Duration) *Duration { v := Duration(d); return &v }
	bits := func(v float64) *Rate { return &Rate{BitsPerSecond: v} }
	senders := func(n Senders) *Senders { return &n }
	on, off := Switch(true), Switch(false)
	for _, c := range []struct {
		text  string
		value encoding.TextMarshaler
		again string
	}{
		{"212992", size(212992), ""}, {"64KiB", size(65536), "65536"}, {"64MiB", size(64 << 20), ""}, {"1.5GiB", size(3 << 29), "1536MiB"},
		{"2GiB", size(2 << 30), ""}, {"64kB", size(64000), "64000"}, {"1MB", size(1e6), "1000000"}, {"off", size(0), ""}, {"0", size(0), "off"}, {"8B", size(8), "8"},
		{"100ms", duration(100 * time.Millisecond), ""}, {"3s", duration(3 * time.Second), ""}, {"1500us", duration(1500 * time.Microsecond), "1.5ms"},
		{"9gbit", bits(9e9), ""}, {"100mbit", bits(1e8), ""}, {"2.5gbit", bits(2.5e9), ""}, {"1kbit", bits(1000), ""}, {"1000mbit", bits(1e9), "1gbit"},
		{"123456789bit", bits(123456789), "123456.789kbit"}, {"1234567.8901mbit", bits(1234567890100), "1234567890.1kbit"}, {"96234567.125bit", bits(96234567.125), ""},
		{"250kpps", &Rate{PacketsPerSecond: 250e3}, ""}, {"0.5pps", &Rate{PacketsPerSecond: 0.5}, ""}, {"unpaced", &Rate{}, ""}, {"off", &Rate{}, "unpaced"},
		{"8", senders(8), ""}, {"auto", senders(AutoSenders), ""}, {"+8", senders(8), "8"},
		{"on", &on, ""}, {"off", &off, ""},
	} {
		again := c.again
		if again == "" {
			again = c.text
		}
		if got, err := c.value.MarshalText(); err != nil || string(got) != again {
			t.Errorf("%s is written %s, want %s (%v)", c.text, got, again, err)
		}
		read := newLike(c.value)
		if err := read.(encoding.TextUnmarshaler).UnmarshalText([]byte(c.text)); err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got, _ := read.MarshalText(); string(got) != again {
			t.Errorf("%s is read as %s", c.text, got)
		}
		data, err := json.Marshal(c.value)
		if err != nil {
			t.Fatal(err)
		}
		read = newLike(c.value)
		if err := json.Unmarshal(data, read); err != nil {
			t.Errorf("%s: JSON %s: %v", c.text, data, err)
		} else if got, _ := read.MarshalText(); string(got) != again {
			t.Errorf("%s: JSON %s is read as %s", c.text, data, got)
		}
	}
}

// newLike is an empty value of the same type.
func newLike(v encoding.TextMarshaler) encoding.TextMarshaler {
	switch v.(type) {
	case *Size:
		return new(Size)
	case *Duration:
		return new(Duration)
	case *Rate:
		return new(Rate)
	case *Senders:
		return new(Senders)
	}
	return new(Switch)
}

// Measured rates are no round numbers: none may change on its way through text.
func TestRateIsLossless(t *testing.T) {
	for v := 1.0; v < 1e12; v *= 1.37 {
		for _, rate := range []float64{v, math.Round(v), math.Round(v) * 1000, v / 3} {
			var back Rate
			text := Rate{BitsPerSecond: rate}.String()
			if err := back.UnmarshalText([]byte(text)); err != nil || back.BitsPerSecond != rate {
				t.Fatalf("%v became %s, then %v (%v)", rate, text, back, err)
			}
		}
	}
}

func TestLineRatesAndGroups(t *testing.T) {
	for in, want := range map[string]string{
		`"auto"`: `"auto"`, `"100mbit"`: `"100mbit"`, `["60mbit","100mbit"]`: `["60mbit","100mbit"]`, `"60mbit,100mbit"`: `["60mbit","100mbit"]`,
	} {
		var l LineRates
		if err := json.Unmarshal([]byte(in), &l); err != nil {
			t.Error(err)
		} else if got, _ := json.Marshal(l); string(got) != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	var g Groups
	if err := json.Unmarshal([]byte(`{"first": "239.1.1.254", "count": 4}`), &g); err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(g); string(got) != `["239.1.1.254","239.1.1.255","239.1.2.0","239.1.2.1"]` {
		t.Errorf("got %s", got)
	}
	if got, _ := yaml.Marshal(g); string(got) != "first: 239.1.1.254\ncount: 4\n" {
		t.Errorf("got %s", got)
	}
	for _, bad := range []string{`5`, `{"first": "x"}`, `{"first": "239.1.1.1", "count": 0}`} {
		if err := json.Unmarshal([]byte(bad), &g); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestLineRateOf(t *testing.T) {
	for _, c := range []struct {
		rates []float64
		slave int
		want  float64
	}{{nil, 1, 0}, {[]float64{5}, 1, 5}, {[]float64{5, 6}, 1, 6}} {
		if got := (LineRates{BitsPerSecond: c.rates}).Of(c.slave); got != c.want {
			t.Errorf("%v of slave %d: got %v", c.rates, c.slave, got)
		}
	}
}
