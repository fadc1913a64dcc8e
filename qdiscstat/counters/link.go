package counters

// Link holds the counters of one interface (struct rtnl_link_stats64, include/uapi/linux/if_link.h).
type Link struct {
	Ifindex   int    `json:"ifindex"`
	RxPackets uint64 `json:"rx_packets"`
	TxPackets uint64 `json:"tx_packets"`
	RxBytes   uint64 `json:"rx_bytes"`
	TxBytes   uint64 `json:"tx_bytes"`
	RxErrors  uint64 `json:"rx_errors"`
	TxErrors  uint64 `json:"tx_errors"`
	RxDropped uint64 `json:"rx_dropped"`
	TxDropped uint64 `json:"tx_dropped"` // by the driver; what a qdisc drops is not in it
}

// Action is the sum over the actions of the filters at one parent of one interface.
type Action struct {
	Filters int    `json:"filters"` // filters that have at least one action
	Actions int    `json:"actions"`
	Bytes   uint64 `json:"bytes"`
	Packets uint64 `json:"packets"`
}
