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

// ends are the descriptors of one supervisor: PID 1 keeps ours and closes theirs after the fork.
type ends struct {
	control        *os.File
	stdout, stderr *os.File
	stdin          *os.File
	theirs         []int // control, stdout, stderr, stdin
}

func open() (*ends, error) {
	e := &ends{}
	if err := e.fill(); err != nil {
		e.closeTheirs()
		e.closeOurs()
		return nil, err
	}
	return e, nil
}

func (e *ends) closeOurs() {
	for _, f := range []*os.File{e.control, e.stdout, e.stderr, e.stdin} {
		if f != nil {
			f.Close()
		}
	}
}

func (e *ends) fill() error {
	control, theirs, err := link.Pair()
	if err != nil {
		return err
	}
	e.control, e.theirs = control, append(e.theirs, theirs)
	if e.stdout, err = e.pipe("stdout", 0); err != nil {
		return err
	}
	if e.stderr, err = e.pipe("stderr", 0); err != nil {
		return err
	}
	// Most commands close it unused.
	e.stdin, err = e.pipe("stdin", 1)
	return err
}

// pipe keeps the end of that index and hands the other one over.
func (e *ends) pipe(name string, ours int) (*os.File, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	e.theirs = append(e.theirs, fds[1-ours])
	// Only our end polls: a command that finds its output non-blocking would lose data.
	if err := unix.SetNonblock(fds[ours], true); err != nil {
		unix.Close(fds[ours])
		return nil, err
	}
	return os.NewFile(uintptr(fds[ours]), name), nil
}

func (e *ends) closeTheirs() {
	for _, fd := range e.theirs {
		unix.Close(fd)
	}
	e.theirs = nil
}
