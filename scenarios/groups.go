package scenarios

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
)

// Groups is a list of multicast addresses, or written {first: 239.66.1.1, count: 16}.
type Groups []string

// maxGroups bounds what {first, count} may make.
const maxGroups = 1024

// groupRange is the short form of consecutive groups.
type groupRange struct {
	First string `yaml:"first" json:"first"`
	Count int    `yaml:"count" json:"count"`
}

// expand lists the range's addresses.
func (r groupRange) expand() (Groups, error) {
	addr, err := netip.ParseAddr(r.First)
	if err != nil {
		return nil, fmt.Errorf("first is %q, which is not an IP address", r.First)
	}
	if r.Count < 1 || r.Count > maxGroups {
		return nil, fmt.Errorf("count is %d; allowed are 1 to %d", r.Count, maxGroups)
	}
	groups := make(Groups, r.Count)
	for i := range groups {
		if !addr.IsValid() {
			return nil, fmt.Errorf("%d addresses from %s on run past the last address", r.Count, r.First)
		}
		groups[i] = addr.String()
		addr = addr.Next()
	}
	return groups, nil
}

// plain is the list, or the short form of at least four consecutive groups.
func (g Groups) plain() any {
	if len(g) >= 4 {
		short := groupRange{g[0], len(g)}
		if same, err := short.expand(); err == nil && slices.Equal(same, g) {
			return short
		}
	}
	return []string(g)
}

// MarshalYAML writes the list or its short form.
func (g Groups) MarshalYAML() (any, error) { return g.plain(), nil }

// MarshalJSON writes the list; programs that read it need not know the short form.
func (g Groups) MarshalJSON() ([]byte, error) { return json.Marshal([]string(g)) }

// UnmarshalJSON reads a list or the short form.
func (g *Groups) UnmarshalJSON(data []byte) error {
	var list []string
	if json.Unmarshal(data, &list) == nil {
		*g = list
		return nil
	}
	var short groupRange
	if err := json.Unmarshal(data, &short); err != nil {
		return fmt.Errorf("groups are a list of addresses or {first, count}: %w", err)
	}
	list, err := short.expand()
	*g = list
	return err
}
