package serve

import (
	"sync"

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

func (s *seat) close() { s.closeOurs() }

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

// take returns the spare seat or a new one.
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
		e.closeOurs()
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
