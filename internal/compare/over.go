package compare

import (
	"fmt"
	"slices"
	"strings"

	"bondrepro/reproducer/result"
	"bondrepro/scenarios"
)

// ParseOver reads parameters, each PATH=VALUE,VALUE,…. Commas within brackets do not part values. Errors are one sentence.
func ParseOver(texts []string) (scenarios.Sweep, error) {
	var sweep scenarios.Sweep
	for _, text := range texts {
		path, list, ok := strings.Cut(text, "=")
		if path = strings.TrimSpace(path); !ok || path == "" {
			return nil, fmt.Errorf("--over %s: it must be PATH=VALUE,VALUE,…, as in traffic.senders=1,4,16", text)
		}
		if slices.ContainsFunc(sweep, func(s scenarios.Swept) bool { return s.Path == path }) {
			return nil, fmt.Errorf("--over %s: %s was given already", text, path)
		}
		swept := scenarios.Swept{Path: path}
		for _, word := range splitList(list) {
			_, value, err := assignment(path + "=" + word)
			if err != nil {
				return nil, fmt.Errorf("--over %s: a value is missing, or is not YAML", text)
			}
			swept.Values = append(swept.Values, value)
		}
		if len(swept.Values) < 2 {
			return nil, fmt.Errorf("--over %s: it has one value; a sweep needs two or more, as in traffic.senders=1,4,16", text)
		}
		sweep = append(sweep, swept)
	}
	if len(sweep) > 2 {
		return nil, fmt.Errorf("--over is given %d times: a sweep has one or two parameters", len(sweep))
	}
	return sweep, nil
}

// splitList parts a list at its commas.
func splitList(list string) (words []string) {
	depth, from := 0, 0
	for i, c := range list {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				words, from = append(words, list[from:i]), i+1
			}
		}
	}
	return append(words, list[from:])
}

// times is each variant with each value.
func times(variants scenarios.Variants, swept scenarios.Swept) (all scenarios.Variants) {
	for _, v := range variants {
		for _, value := range swept.Values {
			set := map[string]any{swept.Path: value}
			for k, x := range v.Set {
				set[k] = x
			}
			name := swept.Path + "=" + plainText(value)
			if v.Name != "" {
				name = v.Name + ", " + name
			}
			all = append(all, scenarios.Variant{Name: name, Set: set})
		}
	}
	return all
}

// valuesAt are those of the i-th point.
func valuesAt(over []result.SweptParameter, i int) []string {
	at := make([]string, len(over))
	for j := len(over) - 1; j >= 0; j-- {
		n := len(over[j].Values)
		at[j] = over[j].Values[i%n]
		i /= n
	}
	return at
}
