package guest

import (
	"encoding/binary"
	"encoding/hex"
)

// buildID finds the GNU build id in ELF notes, as hex; empty when there is none. Each note is three words of
// the machine's own order (name size, description size, type), then name and description, each padded to
// 4 bytes (elf(5), "Notes").
func buildID(notes []byte) string {
	const (
		header  = 12
		typeGNU = 3 // NT_GNU_BUILD_ID
		nameGNU = "GNU\x00"
		pad     = 4
	)
	for len(notes) >= header {
		name, desc := binary.NativeEndian.Uint32(notes), binary.NativeEndian.Uint32(notes[4:])
		kind := binary.NativeEndian.Uint32(notes[8:])
		descAt := header + (int(name)+pad-1)/pad*pad
		end := descAt + int(desc)
		if end > len(notes) {
			return ""
		}
		if kind == typeGNU && string(notes[header:header+int(name)]) == nameGNU {
			return hex.EncodeToString(notes[descAt:end])
		}
		notes = notes[min(len(notes), descAt+(int(desc)+pad-1)/pad*pad):]
	}
	return ""
}
