package serve

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"agentfleet.dev/runner/internal/supervise"
	"golang.org/x/sys/unix"
)

// active is a command that runs, alone or in a session: PID 1's half of it.
type active struct {
	*seat
	spec   link.Run
	link   *link.Conn
	began  time.Time
	before *int64      // OOM kills
	swept  atomic.Bool // everybody in the container was killed
	late   backstop

	input          *input // nil unless standard input is open
	stdout, stderr *output
}

// activate prepares what the command writes to; keep: the pipes serve the next one too.
func activate(seat *seat, to *link.Conn, spec link.Run, keep bool) *active {
	a := &active{
		seat: seat, spec: spec, link: to, began: time.Now(), before: proc.OOMKills(cgroupRoot), late: backstop{pid: seat.pid},
	}
	shared := &budget{}
	shared.left.Store(spec.OutputLimitBytes)
	output := func(pipe *os.File, stream string) *output {
		return &output{
			pipe: pipe, keep: keep, budget: shared, done: make(chan struct{}),
			send: func(b []byte) error { return to.Send(link.Out{T: "out", ID: spec.ID, Stream: stream}, b) },
		}
	}
	a.stdout, a.stderr = output(seat.stdout, "stdout"), output(seat.stderr, "stderr")
	if spec.TimeoutMs > 0 {
		a.late.expect(time.Duration(spec.TimeoutMs+spec.GraceMs) * time.Millisecond)
	}
	return a
}

// kill asks the supervisor to end the command; nil grace is the command's own.
func (a *active) kill(reason string, grace *int64) {
	k := link.Kill{T: "kill", Reason: reason, GraceMs: grace}
	a.late.expect(k.Grace(a.spec.GraceMs))
	a.order(k, nil)
}

func (a *active) interrupt() { a.order(link.ByID{T: "interrupt"}, nil) }

// killer is why a command ended whose supervisor did not report it.
func (a *active) killer() *string {
	reason := "SupervisorDied"
	if a.swept.Load() {
		reason = "Swept"
	}
	return &reason
}

// complete adds to an end what only PID 1 knows. All that the command wrote is in the pipes.
func (a *active) complete(end *link.End) {
	a.stdout.finish()
	a.stderr.finish()
	end.T, end.ID = "end", a.spec.ID
	end.OOM = proc.OOMHappened(a.before, proc.OOMKills(cgroupRoot))
	end.Bytes = link.Streams{Stdout: a.stdout.bytes, Stderr: a.stderr.bytes}
	end.Dropped = link.Streams{Stdout: a.stdout.dropped, Stderr: a.stderr.dropped}
}

type command struct {
	*active
	job     *link.Exec
	started chan struct{}
	over    chan struct{} // the supervisor sent its last message
	draft   *link.End     // the supervisor's last report; read after over
	ran     bool
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
	spec := link.Run{ID: job.ID, TimeoutMs: job.TimeoutMs, GraceMs: job.GraceMs, OutputLimitBytes: job.OutputLimitBytes}
	c := &command{active: activate(seat, to, spec, false), job: job, started: make(chan struct{}), over: make(chan struct{})}
	c.input = input
	return c, nil
}

// run follows the command to its end and reports it.
func (c *command) run(s *Server, body []byte) {
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
		status = s.bury(c.seat)
	}
	c.control.Close()
	if c.input != nil {
		c.input.close()
	}
	end := c.end(status)
	c.complete(end)
	s.forget(c.spec.ID)
	_ = c.link.Send(end, nil)
	s.seats.refill()
}

// bury waits for a supervisor without a last report, and kills what it left: only its end makes its children strays.
func (s *Server) bury(seat *seat) unix.WaitStatus {
	stuck := time.AfterFunc(time.Second, func() { _ = unix.Kill(seat.pid, unix.SIGKILL) })
	status := <-seat.exited
	stuck.Stop()
	s.reaper.killStrays(s.sweepAll)
	return status
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

// end is the supervisor's report, or what is known without it.
func (c *command) end(status unix.WaitStatus) *link.End {
	if c.clean() {
		return c.draft
	}
	end := c.draft
	if end == nil {
		end = &link.End{DurationMs: time.Since(c.began).Milliseconds()}
	}
	if !c.ran {
		code := 126
		end.ExitCode = &code
		end.Error = &link.Fault{Code: "EAGAIN", Message: fmt.Sprintf(
			"the supervisor ended before the command started (wait status %#x): out of processes or memory?", uint32(status))}
		return end
	}
	if end.ExitCode == nil && end.Signal == nil {
		name := "SIGKILL"
		end.Signal = &name
	}
	end.Swept = max(end.Swept, 1)
	if end.Killed == nil {
		end.Killed = c.killer()
	}
	return end
}

// overdue is how long after its own deadlines a supervisor may take before PID 1 acts: a command
// may have stopped it where the kernel cannot forbid that.
const overdue = 10 * time.Second

// backstop kills a supervisor that does not end its command in time. A kill may come while the
// rest of the output is read: it must not arm the backstop again, because the supervisor of a
// session goes on, and the process id of another may be taken.
type backstop struct {
	pid int

	mu    sync.Mutex
	timer *time.Timer // nil until the first expect
	over  bool
}

// expect sets the time after which the supervisor is taken for stuck, until stop.
func (b *backstop) expect(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.timer = time.AfterFunc(d+overdue, b.fire)
}

func (b *backstop) fire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		_ = unix.Kill(b.pid, unix.SIGKILL)
	}
}

// stop disarms it permanently: the supervisor reported the end, or is gone.
func (b *backstop) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.timer != nil {
		b.timer.Stop()
	}
}
