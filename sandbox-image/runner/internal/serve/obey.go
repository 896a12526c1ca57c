package serve

import (
	"errors"
	"fmt"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/sandbox"
)

// obey acts on one frame of the keeper and returns the answer, if any.
func (s *Server) obey(f link.Frame, conn *link.Conn) any {
	switch f.T {
	case "exec":
		return decoded(f, func(job *link.Exec) any { return s.exec(job, f.Body, conn) })
	case "kill":
		return decoded(f, s.kill)
	case "stdin":
		return decoded(f, func(in *link.Stdin) any { return s.stdin(in, f.Body) })
	case "resize", "interrupt":
		return decoded(f, s.touch)
	case "session":
		return decoded(f, func(job *link.Exec) any { return s.openSession(job, f.Body, conn) })
	case "run":
		return decoded(f, func(spec *link.Run) any { return s.runInSession(spec, f.Body, conn) })
	case "close":
		return decoded(f, s.closeSession)
	case "exit":
		return decoded(f, func(e *link.Exit) any { s.exit(e.Code); return nil })
	case "ping":
		return decoded(f, func(p *link.Ping) any { p.T = "pong"; return p })
	}
	return fault("", "ENOSYS", fmt.Sprintf("frame %q is not known", f.T))
}

// decoded is the answer of act to the header of a frame.
func decoded[T any](f link.Frame, act func(*T) any) any {
	var header T
	if err := f.Decode(&header); err != nil {
		return fault("", "EINVAL", err.Error())
	}
	return act(&header)
}

func fault(id, code, message string) any {
	return link.Error{T: "error", ID: id, Code: code, Message: message}
}

// refusal is the answer to a command or a session that may not begin, else nil. The caller holds the lock.
func (s *Server) refusal(job *link.Exec) any {
	if err := check(job); err != nil {
		return fault(job.ID, "EINVAL", err.Error())
	}
	if s.commands[job.ID] != nil || s.sessions[job.ID] != nil {
		return fault(job.ID, "EEXIST", "a command or a session with this id is there")
	}
	return nil
}

func (s *Server) exec(job *link.Exec, body []byte, conn *link.Conn) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if no := s.refusal(job); no != nil {
		return no
	}
	c, err := s.launch(job, conn)
	if err != nil {
		// Not through the answer queue, which may drop: an end must arrive.
		go func() { _ = conn.Send(unstarted(job, err), nil) }()
		return nil
	}
	s.commands[job.ID] = c.active
	s.running.Go(func() { c.run(s, body) })
	return nil
}

// job finds a running command, also one of a session.
func (s *Server) job(id string) *active {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands[id]
}

func (s *Server) kill(k *link.Kill) any {
	a := s.job(k.ID)
	if a == nil {
		return fault(k.ID, "ESRCH", "no command with this id runs")
	}
	a.kill(k.Reason, k.GraceMs)
	return nil
}

// stdin is answered in any case: the keeper waits for it.
func (s *Server) stdin(in *link.Stdin, body []byte) any {
	in.Code = "ESRCH"
	if a := s.job(in.ID); a != nil {
		in.Code = "EPIPE"
		if a.input != nil {
			in.Code = a.input.take(in.Seq, body, in.EOF)
		}
	}
	return in
}

// touch resizes or interrupts; a command that has ended meanwhile is no fault.
func (s *Server) touch(r *link.Resize) any {
	a := s.job(r.ID)
	switch {
	case a == nil:
	case r.T == "interrupt":
		a.interrupt()
	case a.input != nil:
		a.input.resize(r.Rows, r.Columns)
	}
	return nil
}

func check(job *link.Exec) error {
	switch {
	case job.ID == "":
		return errors.New("exec without id")
	case job.Network != "Loopback" && job.Network != sandbox.NetworkNone:
		return fmt.Errorf("network %q is neither Loopback nor None", job.Network)
	case job.TimeoutMs < 0 || job.GraceMs < 0 || job.OutputLimitBytes < 0:
		return errors.New("a time or a limit is negative")
	case job.Pty != nil && (job.Pty.Rows == 0 || job.Pty.Columns == 0):
		return errors.New("a terminal without a size")
	}
	return nil
}

// unstarted is the end of a command whose supervisor could not be forked.
func unstarted(job *link.Exec, err error) any {
	code := 126
	return link.End{T: "end", ID: job.ID, ExitCode: &code,
		Error: &link.Fault{Code: errnoName(err), Message: "the command could not be started: " + err.Error()}}
}
