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

// inVLAN holds for frames with the tag of a VLAN; 0 is none, or a tag of no VLAN (a priority's), which the kernel takes
// for none. A tag is beside the frame: the sender's kernel never put it in, or this one has taken it out
// (skb_vlan_untag, net/core/skbuff.c).
func inVLAN(id int) check {
	const mask = 0x0fff // the rest of the tag is priority
	return check{
		[]bpf.Instruction{bpf.LoadExtension{Num: bpf.ExtVLANTag}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask}},
		bpf.JumpEqual, uint32(id),
	}
}

// ours are the checks that a whole UDP datagram to the scenario's port, in its family and in that VLAN, passes. Offsets
// count from the Ethernet header, which has no tag in it.
func ours(t scenarios.Traffic, vlan int) []check {
	const fragment = 0x3fff // more fragments, or an offset
	field := func(at uint32, size int) []bpf.Instruction {
		return []bpf.Instruction{bpf.LoadAbsolute{Off: at, Size: size}}
	}
	tag := inVLAN(vlan)
	if t.IPv6() {
		return []check{
			tag,
			{field(12, 2), bpf.JumpEqual, unix.ETH_P_IPV6},
			{field(20, 1), bpf.JumpEqual, unix.IPPROTO_UDP},
			{field(56, 2), bpf.JumpEqual, uint32(t.Port)},
		}
	}
	return []check{
		tag,
		{field(12, 2), bpf.JumpEqual, unix.ETH_P_IP},
		{field(23, 1), bpf.JumpEqual, unix.IPPROTO_UDP},
		{field(20, 2), bpf.JumpBitsNotSet, fragment},
		{[]bpf.Instruction{bpf.LoadMemShift{Off: 14}, bpf.LoadIndirect{Off: 16, Size: 2}}, bpf.JumpEqual, uint32(t.Port)},
	}
}

// foreign lets through every incoming frame that the UDP sockets do not hear.
func foreign(t scenarios.Traffic, vlan int) []bpf.Instruction {
	const whole = 1 << 18 // bytes
	checks := ours(t, vlan)
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
