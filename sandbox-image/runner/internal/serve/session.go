package serve

import (
	"sync"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/supervise"
)

// session is PID 1's half of a long-lived shell. Between its runs the shell is frozen.
type session struct {
	id   string
	link *link.Conn
	*seat

	mu  sync.Mutex
	run *active // nil while the shell is frozen
}

func (s *Server) openSession(job *link.Exec, saved []byte, conn *link.Conn) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if no := s.refusal(job); no != nil {
		return no
	}
	seat, err := s.seats.take()
	if err != nil {
		go func() {
			_ = conn.Send(link.Closed{T: "closed", ID: job.ID, Error: &link.Fault{Code: errnoName(err), Message: err.Error()}}, nil)
		}()
		return nil
	}
	shell := &session{id: job.ID, link: conn, seat: seat}
	s.sessions[job.ID] = shell
	s.running.Go(func() { shell.live(s, job, saved) })
	return nil
}

func (x *session) live(s *Server, job *link.Exec, saved []byte) {
	spec := *job
	spec.T = supervise.TSession
	x.give(spec, saved)
	s.seats.refill()
	fault, clean := x.listen(s)
	if !clean {
		s.bury(x.seat)
	}
	x.endRun(s)
	x.seat.close()
	s.mu.Lock()
	delete(s.sessions, x.id)
	s.mu.Unlock()
	_ = x.link.Send(link.Closed{T: "closed", ID: x.id, Error: fault}, nil)
}

// listen reads the supervisor's messages until its last; clean reports whether it confirmed an
// empty tree.
func (x *session) listen(s *Server) (fault *link.Fault, clean bool) {
	for {
		f, err := x.control.Receive()
		if err != nil {
			return fault, false
		}
		switch f.T {
		case "start":
			var st link.Start
			if f.Decode(&st) == nil {
				_ = x.link.Send(link.Opened{T: "opened", ID: x.id, PID: st.PID, Shell: st.Shell}, nil)
			}
		case "end":
			var end link.End
			if f.Decode(&end) == nil {
				x.finish(s, &end, f.Body)
			}
		case supervise.TEscalate:
			s.sweepAll()
		case "closed":
			var c link.Closed
			return c.Error, f.Decode(&c) == nil
		}
	}
}

// begin passes a run to the supervisor; nil while another one is active.
func (x *session) begin(spec *link.Run, command []byte) *active {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.run != nil {
		return nil
	}
	r := activate(x.seat, x.link, *spec, true)
	x.run = r
	// Before any output: the keeper sees start, out, end in this order.
	_ = x.link.Send(link.Start{T: "start", ID: spec.ID, PID: x.pid}, nil)
	go r.stdout.pump()
	go r.stderr.pump()
	x.order(*spec, command)
	return r
}

func (x *session) finish(s *Server, end *link.End, exports []byte) {
	x.mu.Lock()
	r := x.run
	x.run = nil
	x.mu.Unlock()
	if r == nil {
		return
	}
	r.late.stop()
	r.complete(end)
	s.forget(r.spec.ID)
	_ = x.link.Send(end, exports)
}

func (x *session) endRun(s *Server) {
	x.mu.Lock()
	r := x.run
	x.mu.Unlock()
	if r == nil {
		return
	}
	name := "SIGKILL"
	x.finish(s, &link.End{
		Signal: &name, Killed: r.killer(), Swept: 1, DurationMs: time.Since(r.began).Milliseconds(),
		Session: &link.ShellState{},
	}, nil)
}

// end closes the control: the supervisor then kills the tree.
func (x *session) end() { x.order(link.ByID{T: "close"}, nil) }

func (s *Server) runInSession(spec *link.Run, command []byte, conn *link.Conn) any {
	if spec.ID == "" || spec.TimeoutMs < 0 || spec.GraceMs < 0 || spec.OutputLimitBytes < 0 {
		return fault(spec.ID, "EINVAL", "a run without an id, or a negative time or limit")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shell := s.sessions[spec.Session]
	if shell == nil || shell.link != conn {
		return fault(spec.ID, "ESRCH", "no session with this id is open")
	}
	if s.commands[spec.ID] != nil {
		return fault(spec.ID, "EEXIST", "a command with this id runs")
	}
	r := shell.begin(spec, command)
	if r == nil {
		return fault(spec.ID, "EBUSY", "a command runs in this session")
	}
	s.commands[spec.ID] = r
	return nil
}

func (s *Server) closeSession(c *link.ByID) any {
	s.mu.Lock()
	shell := s.sessions[c.ID]
	s.mu.Unlock()
	if shell == nil {
		return link.Closed{T: "closed", ID: c.ID}
	}
	shell.end()
	return nil
}
