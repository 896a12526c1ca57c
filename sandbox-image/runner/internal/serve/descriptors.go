package serve

import (
	"os"
	"time"

	"agentfleet.dev/runner/internal/link"
	"golang.org/x/sys/unix"
)

var (
	unixPast   = time.Unix(1, 0)
	noDeadline = time.Time{}
)

// ends are the descriptors of one supervisor: ours to keep, theirs to close after the fork.
type ends struct {
	control        *os.File
	stdout, stderr *os.File
	theirs         []int // control, stdin, stdout, stderr
}

func open(stdin []byte) (*ends, error) {
	e := &ends{}
	err := e.fill(stdin)
	if err != nil {
		e.closeTheirs()
		for _, f := range []*os.File{e.control, e.stdout, e.stderr} {
			if f != nil {
				f.Close()
			}
		}
		return nil, err
	}
	return e, nil
}

func (e *ends) fill(stdin []byte) error {
	control, theirs, err := link.Pair()
	if err != nil {
		return err
	}
	e.control, e.theirs = control, append(e.theirs, theirs)
	in, err := input(stdin)
	if err != nil {
		return err
	}
	e.theirs = append(e.theirs, in)
	if e.stdout, err = e.pipe("stdout"); err != nil {
		return err
	}
	e.stderr, err = e.pipe("stderr")
	return err
}

func (e *ends) pipe(name string) (*os.File, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	e.theirs = append(e.theirs, fds[1])
	// Only our end polls: a command that finds its output non-blocking would lose data.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), name), nil
}

func (e *ends) closeTheirs() {
	for _, fd := range e.theirs {
		unix.Close(fd)
	}
	e.theirs = nil
}

// input is standard input, read to its end without anybody to write it. Empty input is
// /dev/null and not an empty file or pipe: some tools then search the directory instead.
func input(body []byte) (int, error) {
	if len(body) == 0 {
		return unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	// Where the node forbids executable memory files, asking for one is refused.
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err != nil {
		fd, err = unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	for off := 0; off < len(body); {
		n, err := unix.Pwrite(fd, body[off:], int64(off))
		if err != nil {
			unix.Close(fd)
			return -1, os.NewSyscallError("pwrite", err)
		}
		off += n
	}
	return fd, nil
}
