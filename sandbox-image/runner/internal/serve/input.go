package serve

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"agentfleet.dev/runner/internal/link"
	"golang.org/x/sys/unix"
)

// endOfInput is the character by which a terminal ends standard input (VEOF).
const endOfInput = 0x04

// input moves bytes of the keeper to a command's standard input, one frame at a time: bytes that do
// not fit into the pipe wait here, and the next frame is refused with EAGAIN.
type input struct {
	mu      sync.Mutex
	file    *os.File
	pty     bool
	waiting bool
	closed  bool
	last    int64 // number of the newest part that was taken
}

// take returns an errno name, empty when the bytes will reach the command unless it closes its end.
// A part that was taken is not written again: the keeper repeats a part whose answer is late.
func (i *input) take(seq int64, body []byte, eof bool) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case seq <= i.last:
		return ""
	case i.closed:
		return "EPIPE"
	case i.waiting:
		return "EAGAIN"
	}
	if eof && i.pty {
		body, eof = append(body, endOfInput), false
	}
	i.waiting, i.last = true, seq
	go i.write(body, eof)
	return ""
}

func (i *input) write(body []byte, eof bool) {
	_, err := i.file.Write(body)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting = false
	if err != nil || eof {
		i.shut()
	}
}

// close ends the input; a write under way ends with it.
func (i *input) close() {
	// Not under the lock: Close waits for no writer of the file, but wakes it.
	_ = i.file.Close()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shut()
}

func (i *input) shut() {
	i.closed = true
	_ = i.file.Close()
}

// resize sets the size of a terminal; one that is closed meanwhile needs none.
func (i *input) resize(rows, columns uint16) {
	raw, err := i.file.SyscallConn()
	if err != nil || !i.pty {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	})
}

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

func canMakeTerminals() bool {
	read, write, err := terminal(&link.Pty{Rows: 24, Columns: 80})
	if err != nil {
		return false
	}
	_, _ = read.Close(), write.Close()
	return true
}
