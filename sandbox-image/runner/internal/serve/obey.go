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
		return s.exec(f, conn)
	case "kill":
		var k link.Kill
		if err := f.Decode(&k); err != nil {
			return fault("", "EINVAL", err.Error())
		}
		c := s.job(k.ID)
		if c == nil {
			return fault(k.ID, "ESRCH", "no command with this id runs")
		}
		c.kill(k.Reason, k.GraceMs)
	case "stdin":
		return s.stdin(f)
	case "resize", "interrupt":
		return s.touch(f)
	case "session":
		return s.openSession(f, conn)
	case "run":
		return s.runInSession(f, conn)
	case "close":
		return s.closeSession(f)
	case "exit":
		var e link.Exit
		if err := f.Decode(&e); err != nil {
			return fault("", "EINVAL", err.Error())
		}
		s.exit(e.Code)
	case "ping":
		var p link.Ping
		if err := f.Decode(&p); err != nil {
			return fault("", "EINVAL", err.Error())
		}
		p.T = "pong"
		return p
	default:
		return fault("", "ENOSYS", fmt.Sprintf("frame %q is not known", f.T))
	}
	return nil
}

func fault(id, code, message string) any {
	return link.Error{T: "error", ID: id, Code: code, Message: message}
}

func (s *Server) exec(f link.Frame, conn *link.Conn) any {
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
		return fault(job.ID, "EEXIST", "a command with this id runs")
	}
	c, err := s.launch(job, conn)
	if err != nil {
		// Not through the answer queue, which may drop: an end must arrive.
		go func() { _ = conn.Send(unstarted(job, err), nil) }()
		return nil
	}
	s.commands[job.ID] = c
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		c.run(s, f.Body, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.commands, job.ID)
		})
	}()
	return nil
}

// job finds a running command, also one of a session.
func (s *Server) job(id string) job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands[id]
}

// stdin is answered in any case: the keeper waits for it.
func (s *Server) stdin(f link.Frame) any {
	var in link.Stdin
	if err := f.Decode(&in); err != nil {
		return fault("", "EINVAL", err.Error())
	}
	in.Code = "ESRCH"
	if c, ok := s.job(in.ID).(*command); ok {
		in.Code = "EPIPE"
		if c.input != nil {
			in.Code = c.input.take(in.Seq, f.Body, in.EOF)
		}
	}
	return in
}

// touch resizes or interrupts; a command that has ended meanwhile is no fault.
func (s *Server) touch(f link.Frame) any {
	var r link.Resize
	if err := f.Decode(&r); err != nil {
		return fault("", "EINVAL", err.Error())
	}
	j := s.job(r.ID)
	if j == nil {
		return nil
	}
	if f.T == "interrupt" {
		j.interrupt()
		return nil
	}
	if c, ok := j.(*command); ok && c.input != nil {
		_ = c.input.resize(r.Rows, r.Columns)
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
