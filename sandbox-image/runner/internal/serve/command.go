package serve

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"agentfleet.dev/runner/internal/supervise"
	"golang.org/x/sys/unix"
)

// command is PID 1's half of one exec.
type command struct {
	job  *link.Exec
	link *link.Conn
	*seat
	began  time.Time
	before link.Cgroup
	swept  atomic.Bool // ended by killing everybody
	late   backstop

	input          *input // nil unless standard input is open
	stdout, stderr *output
	started        chan struct{}
	over           chan struct{} // the supervisor sent its last message
	draft          *link.End     // the supervisor's last report; read after over
	ran            bool
}

// launch seats a command; run follows it.
func (s *Server) launch(job *link.Exec, to *link.Conn) (*command, error) {
	seat, err := s.seats.take()
	if err != nil {
		return nil, err
	}
	input, err := seat.connect(job)
	if err != nil {
		seat.close()
		return nil, err
	}
	c := &command{
		job: job, link: to, seat: seat, input: input, began: time.Now(), before: proc.ReadCgroup(cgroupRoot),
		late: backstop{pid: seat.pid}, started: make(chan struct{}), over: make(chan struct{}),
	}
	shared := &budget{}
	shared.left.Store(job.OutputLimitBytes)
	c.stdout = c.output(seat.stdout, "stdout", shared)
	c.stderr = c.output(seat.stderr, "stderr", shared)
	if job.TimeoutMs > 0 {
		c.late.expect(time.Duration(job.TimeoutMs+job.GraceMs) * time.Millisecond)
	}
	return c, nil
}

func (c *command) output(pipe *os.File, stream string, shared *budget) *output {
	return &output{
		pipe: pipe, budget: shared, done: make(chan struct{}),
		send: func(b []byte) error { return c.link.Send(link.Out{T: "out", ID: c.job.ID, Stream: stream}, b) },
	}
}

// run follows the command to its end and reports it. remove takes the id out of the table, so
// that the keeper may use it again as soon as it has the end.
func (c *command) run(s *Server, body []byte, remove func()) {
	go c.listen(s)
	job := *c.job
	job.T = supervise.TExec
	c.give(job, body)
	<-c.started
	go c.stdout.pump()
	go c.stderr.pump()
	<-c.over
	c.late.stop()
	var status unix.WaitStatus
	if !c.clean() {
		// Without its report, only the end of the supervisor makes its children strays.
		stuck := time.AfterFunc(time.Second, func() { _ = unix.Kill(c.pid, unix.SIGKILL) })
		status = <-c.exited
		stuck.Stop()
		s.reaper.killStrays(s.sweepAll)
	}
	c.control.Close()
	if c.input != nil {
		c.input.close()
	}
	c.stdout.finish()
	c.stderr.finish()
	end := c.end(status)
	s.forgetIPC()
	remove()
	_ = c.link.Send(end, nil)
	s.seats.refill()
}

// clean reports whether the supervisor confirmed an empty tree.
func (c *command) clean() bool { return c.draft != nil && c.draft.T == "end" }

// listen takes the supervisor's messages. Output is held until the start was sent: the keeper
// sees start, out, end in this order.
func (c *command) listen(s *Server) {
	defer close(c.over)
	for !c.clean() {
		f, err := c.control.Receive()
		if err != nil {
			break
		}
		switch f.T {
		case "start":
			var st link.Start
			if f.Decode(&st) == nil && !c.ran {
				c.ran = true
				_ = c.link.Send(st, nil)
				close(c.started)
			}
		case "end", supervise.TEscalate:
			var end link.End
			if f.Decode(&end) == nil {
				c.draft = &end
			}
			if f.T == supervise.TEscalate {
				s.sweepAll()
			}
		}
	}
	if !c.ran {
		close(c.started)
	}
}

// kill asks the supervisor to end the command; nil grace is the command's own.
func (c *command) kill(reason string, grace *int64) {
	ms := c.job.GraceMs
	if grace != nil {
		ms = *grace
	}
	c.late.expect(time.Duration(ms) * time.Millisecond)
	c.order(link.Kill{T: "kill", Reason: reason, GraceMs: grace}, nil)
}

func (c *command) fell() { c.swept.Store(true) }

// interrupt sends SIGINT to the tree, as a terminal would to its foreground.
func (c *command) interrupt() { c.order(link.ByID{T: "interrupt"}, nil) }

// end completes the supervisor's report, or reports what is known without it.
func (c *command) end(status unix.WaitStatus) *link.End {
	end := c.draft
	if end == nil {
		end = &link.End{DurationMs: time.Since(c.began).Milliseconds()}
	}
	if !c.clean() {
		c.bury(end, status)
	}
	end.T, end.ID = "end", c.job.ID
	end.OOM = proc.OOMHappened(c.before, proc.ReadCgroup(cgroupRoot))
	end.Bytes = link.Streams{Stdout: c.stdout.bytes, Stderr: c.stderr.bytes}
	end.Dropped = link.Streams{Stdout: c.stdout.dropped, Stderr: c.stderr.dropped}
	return end
}

// bury fills the end of a command whose supervisor died.
func (c *command) bury(end *link.End, status unix.WaitStatus) {
	if !c.ran {
		code := 126
		end.ExitCode = &code
		end.Error = &link.Fault{Code: "EAGAIN", Message: fmt.Sprintf(
			"the supervisor ended before the command started (wait status %#x): out of processes or memory?", uint32(status))}
		return
	}
	if end.ExitCode == nil && end.Signal == nil {
		name := "SIGKILL"
		end.Signal = &name
	}
	end.Swept = max(end.Swept, 1)
	if end.Killed == nil {
		reason := "SupervisorDied"
		if c.swept.Load() {
			reason = "Swept"
		}
		end.Killed = &reason
	}
}
