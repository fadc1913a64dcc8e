package traffic

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"bondrepro/scenarios"
)

// check is a question to a frame: load, and compare. A frame for which it does not hold is foreign.
type check struct {
	load  []bpf.Instruction
	holds bpf.JumpTest
	value uint32
}

// ours are the checks that a whole UDP datagram to the scenario's port, in its family and outside any VLAN, passes.
// Offsets count from the Ethernet header; the kernel has taken a VLAN tag out of it (skb_vlan_untag).
func ours(t scenarios.Traffic) []check {
	const fragment = 0x3fff // more fragments, or an offset
	field := func(at uint32, size int) []bpf.Instruction {
		return []bpf.Instruction{bpf.LoadAbsolute{Off: at, Size: size}}
	}
	untagged := check{[]bpf.Instruction{bpf.LoadExtension{Num: bpf.ExtVLANTagPresent}}, bpf.JumpEqual, 0}
	if t.IPv6() {
		return []check{
			untagged,
			{field(12, 2), bpf.JumpEqual, unix.ETH_P_IPV6},
			{field(20, 1), bpf.JumpEqual, unix.IPPROTO_UDP},
			{field(56, 2), bpf.JumpEqual, uint32(t.Port)},
		}
	}
	return []check{
		untagged,
		{field(12, 2), bpf.JumpEqual, unix.ETH_P_IP},
		{field(23, 1), bpf.JumpEqual, unix.IPPROTO_UDP},
		{field(20, 2), bpf.JumpBitsNotSet, fragment},
		{[]bpf.Instruction{bpf.LoadMemShift{Off: 14}, bpf.LoadIndirect{Off: 16, Size: 2}}, bpf.JumpEqual, uint32(t.Port)},
	}
}

// foreign lets through every incoming frame that the UDP sockets do not hear.
func foreign(t scenarios.Traffic) []bpf.Instruction {
	const whole = 1 << 18 // bytes
	checks := ours(t)
	left := 0 // instructions until the last two
	for _, c := range checks {
		left += len(c.load) + 1
	}
	program := []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PACKET_OUTGOING, SkipTrue: uint8(left)},
	}
	for _, c := range checks {
		left -= len(c.load) + 1
		program = append(program, c.load...)
		program = append(program, bpf.JumpIf{Cond: c.holds, Val: c.value, SkipFalse: uint8(left + 1)})
	}
	return append(program, bpf.RetConstant{Val: 0}, bpf.RetConstant{Val: whole})
}
