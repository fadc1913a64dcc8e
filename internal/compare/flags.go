package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bondrepro/scenarios"

	"github.com/goccy/go-yaml"
)

// Flags are arms as a command line names them.
type Flags struct {
	Letters [4][]string // of --a, --b, --c, --d: KEY=VALUE
	Named   []string    // of --arm: NAME:KEY=VALUE, or NAME: for the scenario as it is
}

// Variants are the arms in order: a to d, then the named ones by their first appearance. An a that is missing beside another
// letter is the scenario as it is. Errors are one sentence.
func (f Flags) Variants() (all scenarios.Variants, err error) {
	add := func(flag, name, setting string) error {
		i := slices.IndexFunc(all, func(v scenarios.Variant) bool { return v.Name == name })
		if i < 0 {
			all = append(all, scenarios.Variant{Name: name, Set: map[string]any{}})
			i = len(all) - 1
		}
		if setting == "" {
			return nil
		}
		key, value, err := assignment(setting)
		if err != nil {
			return fmt.Errorf("%s %s: %w", flag, setting, err)
		}
		if _, twice := all[i].Set[key]; twice {
			return fmt.Errorf("%s %s: %s of arm %s was given already", flag, setting, key, name)
		}
		all[i].Set[key] = value
		return nil
	}
	for i, settings := range f.Letters {
		name := string(rune('a' + i))
		if i == 0 && len(settings) == 0 && slices.ContainsFunc(f.Letters[1:], func(s []string) bool { return len(s) > 0 }) {
			settings = []string{""}
		}
		for _, s := range settings {
			if err := add("--"+name, name, s); err != nil {
				return nil, err
			}
		}
	}
	for _, text := range f.Named {
		name, setting, ok := strings.Cut(text, ":")
		if !ok || name == "" || strings.Contains(name, "=") {
			return nil, fmt.Errorf("--arm %s: it must be NAME:KEY=VALUE, as in old:kernel=./linux", text)
		}
		if err := add("--arm", name, setting); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// assignment parts KEY=VALUE. The value is YAML, but for kernels and modules, which are text.
func assignment(setting string) (key string, value any, err error) {
	key, text, ok := strings.Cut(setting, "=")
	if key = strings.TrimSpace(key); !ok || key == "" || strings.TrimSpace(text) == "" {
		return "", nil, fmt.Errorf("it must be KEY=VALUE, as in offload.tso=off")
	}
	if isPlaceKey(key) {
		return key, text, nil
	}
	value, err = plainValue(text)
	return key, value, err
}

// isPlaceKey tells whether a key names a kernel or a module.
func isPlaceKey(key string) bool { return key == "kernel" || strings.HasPrefix(key, "module.") }

// plainValue reads YAML into what encoding/json makes of its like.
func plainValue(text string) (value any, err error) {
	var read any
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		return nil, fmt.Errorf("its value is not YAML")
	}
	form, err := json.Marshal(read)
	if err == nil {
		err = json.Unmarshal(form, &value)
	}
	if err != nil {
		return nil, fmt.Errorf("its value can't be used: %w", err)
	}
	return value, nil
}
