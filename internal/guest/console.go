package guest

import (
	"fmt"
	"os"

	"bondrepro/internal/guestproto"

	"golang.org/x/sys/unix"
)

// say writes a line to the kernel's log, which the console shows at once, also when the machine dies in the
// next instruction. The level is error: the command line asks for quiet.
func say(format string, args ...any) {
	line := guestproto.MarkPrefix + fmt.Sprintf(format, args...)
	f, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, line)
		return
	}
	defer f.Close()
	if _, err := f.WriteString("<3>" + line + "\n"); err != nil {
		fmt.Fprintln(os.Stderr, line)
	}
}

// openChannel opens a serial port and makes it raw: 8 bits, no echo, no translation, no flow control.
func openChannel(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	t := unix.Termios{Cflag: unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B115200, Ispeed: 115200, Ospeed: 115200}
	t.Cc[unix.VMIN] = 1
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &t); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("make %s raw: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}
