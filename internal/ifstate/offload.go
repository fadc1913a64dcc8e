package ifstate

import (
	"errors"

	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"
)

// features are the interface's offload features; none where it has no such thing.
func features(e *ethtool.Ethtool, name string) (map[string]Feature, error) {
	states, err := e.FeaturesWithState(name)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("ethtool -k", name, err)
	}
	all := make(map[string]Feature, len(states))
	for feature, s := range states {
		all[feature] = Feature{Active: s.Active, Requested: s.Requested, Available: s.Available && !s.NeverChanged}
	}
	return all, nil
}

// channels are the device's channels, nil where the driver has no such thing.
func channels(e *ethtool.Ethtool, name string) *Channels {
	c, err := e.GetChannels(name)
	if err != nil {
		return nil
	}
	return &Channels{Rx: c.RxCount, Tx: c.TxCount, Other: c.OtherCount, Combined: c.CombinedCount}
}
