package serve

import (
	"errors"
	"fmt"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/sandbox"
	"golang.org/x/sys/unix"
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
		s.mu.Lock()
		c := s.commands[k.ID]
		s.mu.Unlock()
		if c == nil {
			return fault(k.ID, "ESRCH", "no command with this id runs")
		}
		c.kill(k.Reason, k.GraceMs)
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
	if s.commands[job.ID] != nil {
		return fault(job.ID, "EEXIST", "a command with this id runs")
	}
	c, err := s.launch(job, conn)
	if err != nil {
		// Not through the answers, which may be dropped: an end must arrive.
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

func check(job *link.Exec) error {
	switch {
	case job.ID == "":
		return errors.New("exec without id")
	case job.Network != "Loopback" && job.Network != sandbox.NetworkNone:
		return fmt.Errorf("network %q is neither Loopback nor None", job.Network)
	case job.TimeoutMs < 0 || job.GraceMs < 0 || job.OutputLimitBytes < 0:
		return errors.New("a time or a limit is negative")
	}
	return nil
}

// unstarted is the end of a command whose supervisor could not be forked.
func unstarted(job *link.Exec, err error) any {
	code, name := 126, "EIO"
	var e unix.Errno
	if errors.As(err, &e) {
		name = unix.ErrnoName(e)
	}
	return link.End{T: "end", ID: job.ID, ExitCode: &code,
		Error: &link.Fault{Code: name, Message: "the supervisor could not be started: " + err.Error()}}
}
