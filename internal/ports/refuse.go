package ports

import (
	"fmt"
	"net/netip"
	"strings"

	"bondrepro/reproducer/result"
)

// refusal is one reason not to touch a port. why gives the sentence and what to do, or "" where there is no such reason.
type refusal struct {
	code string
	why  func(f Facts, a Ask) (text, remedy string)
	// last tells that what comes after it means nothing for such a port.
	last bool
	// said tells that for the slaves of an existing bond it is said of the bond, or is as it has to be.
	said bool
}

// otherPort is what to do about a port that others need.
const otherPort = "name a port that nothing else needs"

var refusals = []refusal{
	{code: "loopback", why: loopback, last: true},
	{code: "not_ethernet", why: notEthernet, last: true},
	{code: "no_bond", why: noBond, last: true},
	{code: "virtual", why: virtual},
	{code: "default_route", why: defaultRoute, said: true},
	{code: "ssh", why: ssh, said: true},
	{code: "master", why: master, said: true},
	{code: "uppers", why: uppers},
	{code: "addresses", why: addresses},
	{code: "down", why: down, said: true},
	{code: "no_carrier", why: noCarrier, said: true},
	{code: "no_speed", why: noSpeed},
	{code: "half_duplex", why: halfDuplex},
	{code: "slower", why: slower},
	{code: "faster", why: faster},
	{code: "mtu", why: mtu, said: true},
	{code: "queues", why: queues},
}

// Refuse tells every reason not to run on the port, in a fixed order.
func Refuse(f Facts, a Ask) []Refusal {
	inBond := a.Bond && f.Kind != "bond" && f.Master != ""
	var all []Refusal
	for _, r := range refusals {
		if inBond && r.said {
			continue
		}
		text, remedy := r.why(f, a)
		if text == "" {
			continue
		}
		all = append(all, Refusal{Interface: f.Name, Code: r.code, Text: text, Remedy: remedy})
		if r.last {
			break
		}
	}
	return all
}

func loopback(f Facts, _ Ask) (text, remedy string) {
	if f.Link != "loopback" {
		return "", ""
	}
	return f.Name + " is the loopback interface", "name a port: ip link shows what there is"
}

func notEthernet(f Facts, _ Ask) (text, remedy string) {
	if f.Link == "ether" {
		return "", ""
	}
	return fmt.Sprintf("%s is not Ethernet (link/%s)", f.Name, f.Link), "name an Ethernet port: ip link shows what there is"
}

func noBond(f Facts, a Ask) (text, remedy string) {
	if !a.Bond || f.Kind == "bond" || f.Master != "" {
		return "", ""
	}
	return f.Name + " is no bond", "--slaves names ports, of which a bond is built"
}

func virtual(f Facts, a Ask) (text, remedy string) {
	switch {
	case !f.Virtual || a.AllowVirtual || a.Bond && f.Kind == "bond":
		return "", ""
	case f.Kind == "bond":
		return f.Name + " is a bond, not a port", "--bond " + f.Name + " measures it as it is"
	}
	return fmt.Sprintf("%s is virtual (%s): there is no line that could be full", f.Name, kindOf(f)),
		"--testbed netns has virtual ports with a line rate; --allow-virtual takes it all the same"
}

// kindOf names what a port is: tun, among others, has a driver and no kind.
func kindOf(f Facts) string {
	for _, s := range []string{f.Kind, f.Driver} {
		if s != "" {
			return s
		}
	}
	return "below /sys/devices/virtual"
}

func defaultRoute(f Facts, _ Ask) (text, remedy string) {
	if !f.DefaultRoute {
		return "", ""
	}
	return f.Name + " carries the default route" + by(f.Name, f.DefaultBy), otherPort + ", or move the route: ip route show default table all"
}

// by names the device on a port that a route names.
func by(port, device string) string {
	if device == "" || device == port {
		return ""
	}
	return " (dev " + device + ")"
}

func ssh(f Facts, _ Ask) (text, remedy string) {
	if len(f.SSH) == 0 {
		return "", ""
	}
	return fmt.Sprintf("%s carries an SSH connection to this machine (from %s)", f.Name, strings.Join(f.SSH, ", ")),
		otherPort + ", or log in by another one"
}

func master(f Facts, _ Ask) (text, remedy string) {
	if f.Master == "" {
		return "", ""
	}
	return fmt.Sprintf("%s has a master, %s", f.Name, f.Master), fmt.Sprintf("take it out: ip link set %s nomaster; or, if that is a bond, --bond %s measures it as it is", f.Name, f.Master)
}

// uppers of a bond that is used as it is stay up: their users share the lines with the load, as its own do.
func uppers(f Facts, a Ask) (text, remedy string) {
	if len(f.Uppers) == 0 || a.Bond {
		return "", ""
	}
	return fmt.Sprintf("%s has other devices on it (%s): they would go down with it", f.Name, strings.Join(f.Uppers, ", ")),
		"delete them first: ip link delete " + strings.Join(f.Uppers, "; ip link delete ")
}

func addresses(f Facts, a Ask) (text, remedy string) {
	if len(f.Addresses) == 0 || a.TakeAddresses {
		return "", ""
	}
	remedy = "--take-addresses takes them off for the run and puts them back"
	if a.Bond {
		remedy = "--take-addresses allows it; they stay, and what uses them shares the lines with the load"
	}
	return fmt.Sprintf("%s has addresses (%s)", f.Name, joined(f.Addresses)), remedy
}

func joined(prefixes []netip.Prefix) string {
	var all []string
	for _, p := range prefixes {
		all = append(all, p.String())
	}
	return strings.Join(all, ", ")
}

func down(f Facts, _ Ask) (text, remedy string) {
	if f.Up {
		return "", ""
	}
	return f.Name + " is down, and only a port that is up tells whether it has a carrier", "ip link set " + f.Name + " up; wait for its carrier, and try once more"
}

func noCarrier(f Facts, _ Ask) (text, remedy string) {
	if !f.Up || f.Carrier {
		return "", ""
	}
	return f.Name + " has no carrier", "look at the cable, the module and the far end: ethtool " + f.Name
}

// noSpeed speaks of ports with a carrier only: the others have been told that they need one.
func noSpeed(f Facts, a Ask) (text, remedy string) {
	if !linked(f) || f.SpeedMbit > 0 || a.LineRate > 0 || f.Kind == "bond" {
		return "", ""
	}
	return f.Name + " tells no speed, so its line rate is not known", "name it: --set topology.slaves.line_rate=10gbit"
}

func linked(f Facts) bool { return f.Up && f.Carrier }

func halfDuplex(f Facts, _ Ask) (text, remedy string) {
	if !linked(f) || f.Duplex != "half" {
		return "", ""
	}
	return f.Name + " is half duplex: what arrives holds up what is sent", "let both ends negotiate: ethtool -s " + f.Name + " autoneg on"
}

// rateTolerance is how far the line rate asked for may be below what the port's line carries.
const rateTolerance = 0.01

// ownRate is what to do about a line rate that is not the port's.
const ownRate = "--set topology.slaves.line_rate=auto takes the port's own"

// rated tells whether a line rate was asked for that can be held against the port's speed. A virtual port's speed is no
// line's, and a bond's is that of several.
func rated(f Facts, a Ask) bool {
	return a.LineRate > 0 && f.SpeedMbit > 0 && linked(f) && !f.Virtual
}

// slower lets pass whoever writes a port's speed for its line rate.
func slower(f Facts, a Ask) (text, remedy string) {
	if !rated(f, a) || a.LineRate <= float64(f.SpeedMbit)*mega {
		return "", ""
	}
	return fmt.Sprintf("%s is at %d Mbit/s, slower than the scenario's line_rate (%.0f Mbit/s)", f.Name, f.SpeedMbit, a.LineRate/mega), ownRate
}

func faster(f Facts, a Ask) (text, remedy string) {
	if !rated(f, a) || a.LineRate >= LineRate(f, a.FrameBytes)*(1-rateTolerance) {
		return "", ""
	}
	return fmt.Sprintf("%s is at %d Mbit/s, faster than the scenario's line_rate (%.0f Mbit/s), and a real line can't be made slower",
		f.Name, f.SpeedMbit, a.LineRate/mega), ownRate
}

// mtu wants room for the scenario's MTU or, on a bond that is used as it is, for its packets.
func mtu(f Facts, a Ask) (text, remedy string) {
	if a.Bond {
		if packet := a.FrameBytes - ethernetHeader; packet > f.MTU {
			return fmt.Sprintf("%s is used as it is, with an MTU of %d, and the scenario's packets have %d bytes", f.Name, f.MTU, packet),
				fmt.Sprintf("--set traffic.payload=%d", f.MTU-ipv6Header-udpHeader)
		}
		return "", ""
	}
	if f.MaxMTU == 0 || a.MTU <= f.MaxMTU {
		return "", ""
	}
	return fmt.Sprintf("%s takes no MTU beyond %d, and the scenario wants %d", f.Name, f.MaxMTU, a.MTU), fmt.Sprintf("--set topology.mtu=%d, with a payload that fits", f.MaxMTU)
}

func queues(f Facts, a Ask) (text, remedy string) {
	if a.Queues <= 1 || a.Queues == len(f.Queues) || f.Kind == "bond" {
		return "", ""
	}
	remedy = "leave topology.slaves.queues at 1: as many as there are"
	if c := f.Channels; c != nil && a.Queues <= c.TXMax {
		remedy = fmt.Sprintf("ethtool -L %s %s %d, or %s", f.Name, channelWord(c.Combined), a.Queues, remedy)
	}
	return fmt.Sprintf("%s has %s, and the scenario names %d", f.Name, result.Plural(len(f.Queues), "TX queue"), a.Queues), remedy
}

// channelWord is what ethtool -L calls a driver's TX queues.
func channelWord(combined int) string {
	if combined > 0 {
		return "combined"
	}
	return "tx"
}
