package serve

import (
	"errors"
	"fmt"
	"os"

	"agentfleet.dev/runner/internal/link"
	"golang.org/x/sys/unix"
)

// terminal makes a pseudo-terminal of the container's own devpts. The two files are the same
// master, one to read and one to write, so that each can be closed by its owner.
func terminal(size *link.Pty) (read, write *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("this container has no terminals: /dev/ptmx: %w", err)
	}
	number, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Columns})
	}
	var second int
	if err == nil {
		second, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	}
	if err != nil {
		unix.Close(fd)
		return nil, nil, fmt.Errorf("this container has no terminals: devpts: %w", err)
	}
	size.Number = number
	return os.NewFile(uintptr(fd), "terminal"), os.NewFile(uintptr(second), "terminal"), nil
}

func errnoName(err error) string {
	var e unix.Errno
	if errors.As(err, &e) {
		return unix.ErrnoName(e)
	}
	return "EIO"
}

// canMakeTerminals tries.
func canMakeTerminals() bool {
	read, write, err := terminal(&link.Pty{Rows: 24, Columns: 80})
	if err != nil {
		return false
	}
	_, _ = read.Close(), write.Close()
	return true
}
