package serve

import (
	"os"
	"sync"
	"time"

	"agentfleet.dev/runner/internal/link"
	"golang.org/x/sys/unix"
)

// seat is a supervisor that waits for its job.
type seat struct {
	*ends
	control *link.Conn
	pid     int
	exited  <-chan unix.WaitStatus
	given   chan struct{} // closed when the job was sent
}

// give sends the job. A supervisor that is dead shows in its end.
func (s *seat) give(job any, body []byte) {
	defer close(s.given)
	_ = s.control.Send(job, body)
}

// order sends a frame about the job, after the job: the supervisor takes its first frame for that.
func (s *seat) order(frame any, body []byte) {
	<-s.given
	_ = s.control.Send(frame, body)
}

// connect prepares the streams for a job. A terminal takes the place of the pipes.
func (s *seat) connect(job *link.Exec) (*input, error) {
	if job.Pty != nil {
		read, write, err := terminal(job.Pty)
		if err != nil {
			return nil, err
		}
		s.stdout.Close()
		s.stdin.Close()
		s.stdout = read
		return &input{file: write, pty: true}, nil
	}
	if job.StdinOpen {
		return &input{file: s.stdin}, nil
	}
	s.stdin.Close()
	return nil, nil
}

// seats keeps one supervisor ready: starting a Go program takes longer than all the rest of an
// exec, and can be done while the keeper thinks.
type seats struct {
	reaper *reaper
	mu     sync.Mutex
	spare  *seat
}

func (s *seats) take() (*seat, error) {
	s.mu.Lock()
	spare := s.spare
	s.spare = nil
	s.mu.Unlock()
	if spare != nil {
		select {
		case <-spare.exited: // it was killed
			spare.close()
		default:
			return spare, nil
		}
	}
	return s.start()
}

func (s *seats) start() (*seat, error) {
	e, err := open()
	if err != nil {
		return nil, err
	}
	// 0 = nothing, 1 and 2 = the container's log, 3… = control and streams.
	files := []uintptr{devNull(), 2, 2}
	for _, fd := range e.theirs {
		files = append(files, uintptr(fd))
	}
	pid, exited, err := s.reaper.spawn(files)
	e.closeTheirs()
	if err != nil {
		e.close()
		return nil, err
	}
	return &seat{ends: e, control: link.NewConn(e.control), pid: pid, exited: exited, given: make(chan struct{})}, nil
}

// refill makes the spare, if there is none. Failing is no fault: take tries again.
func (s *seats) refill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare == nil {
		s.spare, _ = s.start()
	}
}

// drop lets the spare go: its supervisor ends when the control closes.
func (s *seats) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare != nil {
		s.spare.close()
		s.spare = nil
	}
}

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
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *ends) close() {
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
