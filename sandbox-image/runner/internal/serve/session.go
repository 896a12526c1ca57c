package serve

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"agentfleet.dev/runner/internal/supervise"
	"golang.org/x/sys/unix"
)

// session is PID 1's half of a long-lived shell. Between its runs the shell is frozen.
type session struct {
	id   string
	link *link.Conn
	*seat
	swept atomic.Bool

	mu  sync.Mutex
	run *run // nil while the shell is frozen
}

// run is one command of a session.
type run struct {
	*session
	spec           *link.Run
	began          time.Time
	before         link.Cgroup
	late           backstop
	stdout, stderr *output
}

func (s *Server) openSession(f link.Frame, conn *link.Conn) any {
	job := &link.Exec{}
	if err := f.Decode(job); err != nil {
		return fault("", "EINVAL", err.Error())
	}
	if err := check(job); err != nil {
		return fault(job.ID, "EINVAL", err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.commands[job.ID] != nil || s.sessions[job.ID] != nil {
		return fault(job.ID, "EEXIST", "a session with this id is open")
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
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		shell.live(s, job, f.Body)
	}()
	return nil
}

// live follows the supervisor to its end.
func (x *session) live(s *Server, job *link.Exec, saved []byte) {
	spec := *job
	spec.T = supervise.TSession
	x.give(spec, saved)
	s.seats.refill()
	fault, clean := x.listen(s)
	if !clean {
		stuck := time.AfterFunc(time.Second, func() { _ = unix.Kill(x.pid, unix.SIGKILL) })
		<-x.exited
		stuck.Stop()
		s.reaper.killStrays(s.sweepAll)
	}
	x.bury(s)
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
func (x *session) begin(spec *link.Run, command []byte) *run {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.run != nil {
		return nil
	}
	r := &run{session: x, spec: spec, began: time.Now(), before: proc.ReadCgroup(cgroupRoot), late: backstop{pid: x.pid}}
	shared := &budget{}
	shared.left.Store(spec.OutputLimitBytes)
	r.stdout, r.stderr = r.output(x.stdout, "stdout", shared), r.output(x.stderr, "stderr", shared)
	if spec.TimeoutMs > 0 {
		r.late.expect(time.Duration(spec.TimeoutMs+spec.GraceMs) * time.Millisecond)
	}
	x.run = r
	// Before any output: the keeper sees start, out, end in this order.
	_ = x.link.Send(link.Start{T: "start", ID: spec.ID, PID: x.pid}, nil)
	go r.stdout.pump()
	go r.stderr.pump()
	x.order(*spec, command)
	return r
}

// finish ends the run: all that it wrote is in the pipes.
func (x *session) finish(s *Server, end *link.End, exports []byte) {
	x.mu.Lock()
	r := x.run
	x.run = nil
	x.mu.Unlock()
	if r == nil {
		return
	}
	r.late.stop()
	r.stdout.finish()
	r.stderr.finish()
	end.T, end.ID = "end", r.spec.ID
	end.OOM = proc.OOMHappened(r.before, proc.ReadCgroup(cgroupRoot))
	end.Bytes = link.Streams{Stdout: r.stdout.bytes, Stderr: r.stderr.bytes}
	end.Dropped = link.Streams{Stdout: r.stdout.dropped, Stderr: r.stderr.dropped}
	s.forgetIPC()
	s.mu.Lock()
	delete(s.commands, r.spec.ID)
	s.mu.Unlock()
	_ = x.link.Send(end, exports)
}

// bury ends a run whose supervisor did not.
func (x *session) bury(s *Server) {
	x.mu.Lock()
	r := x.run
	x.mu.Unlock()
	if r == nil {
		return
	}
	name, reason := "SIGKILL", "SupervisorDied"
	if x.swept.Load() {
		reason = "Swept"
	}
	x.finish(s, &link.End{
		Signal: &name, Killed: &reason, Swept: 1, DurationMs: time.Since(r.began).Milliseconds(),
		Session: &link.ShellState{},
	}, nil)
}

// end closes the control: the supervisor then kills the tree.
func (x *session) end() { x.order(link.ByID{T: "close"}, nil) }

func (x *session) fell() { x.swept.Store(true) }

func (r *run) output(pipe *os.File, stream string, shared *budget) *output {
	return &output{
		pipe: pipe, keep: true, budget: shared, done: make(chan struct{}),
		send: func(b []byte) error { return r.link.Send(link.Out{T: "out", ID: r.spec.ID, Stream: stream}, b) },
	}
}

func (r *run) kill(reason string, grace *int64) {
	ms := r.spec.GraceMs
	if grace != nil {
		ms = *grace
	}
	r.late.expect(time.Duration(ms) * time.Millisecond)
	r.order(link.Kill{T: "kill", Reason: reason, GraceMs: grace}, nil)
}

func (r *run) interrupt() { r.order(link.ByID{T: "interrupt"}, nil) }

func (s *Server) runInSession(f link.Frame, conn *link.Conn) any {
	spec := &link.Run{}
	if err := f.Decode(spec); err != nil {
		return fault("", "EINVAL", err.Error())
	}
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
	r := shell.begin(spec, f.Body)
	if r == nil {
		return fault(spec.ID, "EBUSY", "a command runs in this session")
	}
	s.commands[spec.ID] = r
	return nil
}

func (s *Server) closeSession(f link.Frame) any {
	var c link.ByID
	if err := f.Decode(&c); err != nil {
		return fault("", "EINVAL", err.Error())
	}
	s.mu.Lock()
	shell := s.sessions[c.ID]
	s.mu.Unlock()
	if shell == nil {
		return link.Closed{T: "closed", ID: c.ID}
	}
	shell.end()
	return nil
}
