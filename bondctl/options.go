package bondctl

// Option is one bonding option, named and written as `ip link add type bond` takes it: times in
// milliseconds, switches as 0 or 1.
type Option struct {
	Name  string
	Value string
}

// stateOptions are the options that State.Options holds, besides the primary.
var stateOptions = []string{
	"mode", "miimon", "updelay", "downdelay", "xmit_hash_policy", "resend_igmp", "num_grat_arp", "all_slaves_active",
	"packets_per_slave", "tlb_dynamic_lb", "fail_over_mac", "lacp_rate", "min_links",
}

// compareOptions fails at the first option of a bond that is not what was asked for, and gives those to record.
func compareOptions(name string, got map[string]string, asked []Option) (map[string]string, error) {
	if d := optionDifference(name, bondTable, asked, got); d != nil {
		return nil, d.err()
	}
	values := make(map[string]string, len(stateOptions))
	for _, o := range stateOptions {
		values[o] = got[o]
	}
	return values, nil
}
