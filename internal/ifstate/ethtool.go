package ifstate

import (
	"encoding/binary"
	"errors"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of SIOCETHTOOL (include/uapi/linux/ethtool.h).
const (
	getStrings     = 0x1b
	getPermAddress = 0x20
	getSetInfo     = 0x37
	getFeatures    = 0x3a
	setFeatures    = 0x3b
	getChannels    = 0x3c
	setChannels    = 0x3d
)

const (
	featureSet   = 4  // ETH_SS_FEATURES
	stringLength = 32 // ETH_GSTRING_LEN
	maxAddress   = 32 // MAX_ADDR_LEN
)

// ethtool asks and tells drivers. The library for it holds the address of its buffer as a number: where the stack is moved
// meanwhile the kernel's answer is lost, and zeros are read.
type ethtool struct{ fd int }

func openEthtool() (ethtool, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	return ethtool{fd}, failed("open a socket for", "ethtool", err)
}

func (e ethtool) close() { unix.Close(e.fd) }

// call sends a command, 32-bit words in front and room behind, and gives it with the answer.
func (e ethtool) call(name string, room int, command ...uint32) ([]byte, error) {
	var b []byte
	for _, word := range command {
		b = binary.NativeEndian.AppendUint32(b, word)
	}
	b = append(b, make([]byte, room)...)
	// struct ifreq: the name, and a union of 24 bytes.
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [24 - unsafe.Sizeof(uintptr(0))]byte
	}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	request.data = unsafe.Pointer(&b[0])
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(e.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return nil, errno
	}
	return b, nil
}

// featureNames are the names of the features, by bit.
func (e ethtool) featureNames(name string) ([]string, error) {
	// struct ethtool_sset_info: command, reserved, a mask of 64 bits, then a count for each bit.
	mask := binary.NativeEndian.AppendUint64(nil, 1<<featureSet)
	info, err := e.call(name, 4, getSetInfo, 0, u32(mask), u32(mask[4:]))
	if err != nil {
		return nil, err
	}
	count := u32(info[16:])
	// struct ethtool_gstrings: command, set, count, strings.
	b, err := e.call(name, int(count)*stringLength, getStrings, featureSet, count)
	if err != nil {
		return nil, err
	}
	names := make([]string, count)
	for n := range names {
		names[n] = text(b[12+n*stringLength:][:stringLength])
	}
	return names, nil
}

// features are the interface's offload features; none where it has no such thing.
func (e ethtool) features(name string) (map[string]Feature, error) {
	names, err := e.featureNames(name)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("ethtool -k", name, err)
	}
	// struct ethtool_gfeatures: command, blocks; each block of 32 features is the words available, requested, active, never changed.
	blocks := (len(names) + 31) / 32
	b, err := e.call(name, blocks*16, getFeatures, uint32(blocks))
	if err != nil {
		return nil, failed("ethtool -k", name, err)
	}
	all := make(map[string]Feature, len(names))
	for n, feature := range names {
		set := func(word int) bool { return u32(b[8+n/32*16+word*4:])>>(n%32)&1 != 0 }
		if feature != "" {
			all[feature] = Feature{Available: set(0) && !set(3), Requested: set(1), Active: set(2)}
		}
	}
	return all, nil
}

// setFeature turns one feature on or off.
func (e ethtool) setFeature(name, feature string, on bool) error {
	names, err := e.featureNames(name)
	if err != nil {
		return err
	}
	// struct ethtool_sfeatures: command, blocks; each block is the words valid, requested.
	blocks := (len(names) + 31) / 32
	command := append([]uint32{setFeatures, uint32(blocks)}, make([]uint32, blocks*2)...)
	for n, other := range names {
		if other != feature {
			continue
		}
		command[2+n/32*2] |= 1 << (n % 32)
		if on {
			command[2+n/32*2+1] |= 1 << (n % 32)
		}
	}
	_, err = e.call(name, 0, command...)
	return err
}

// channels are the device's channels, nil where the driver has no such thing. struct ethtool_channels: command, four
// maxima, then the numbers in use.
func (e ethtool) channels(name string) *Channels {
	b, err := e.call(name, 32, getChannels)
	if err != nil {
		return nil
	}
	return &Channels{Rx: u32(b[20:]), Tx: u32(b[24:]), Other: u32(b[28:]), Combined: u32(b[32:])}
}

func (e ethtool) setChannels(name string, c Channels) error {
	_, err := e.call(name, 0, setChannels, 0, 0, 0, 0, c.Rx, c.Tx, c.Other, c.Combined)
	return err
}

// permanentMAC is the device's own address, empty where it has none. struct ethtool_perm_addr: command, length, bytes.
func (e ethtool) permanentMAC(name string) string {
	b, err := e.call(name, maxAddress, getPermAddress, maxAddress)
	if err != nil || u32(b[4:]) > maxAddress {
		return ""
	}
	return hardware(net.HardwareAddr(b[8:][:u32(b[4:])]))
}
