// Package supervise is the process between PID 1 and one command: it adopts all that the command
// leaves behind, keeps its time and its number of processes, and ends only when nothing is left.
package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"golang.org/x/sys/unix"
)

// Descriptors that PID 1 hands over.
const (
	fdControl = 3
	fdStdin   = 4
	fdStdout  = 5
	fdStderr  = 6
)

// TExec and TProbe are the two jobs; both carry a link.Exec.
const (
	TExec     = "exec"
	TProbe    = "probe"
	TEscalate = "escalate"
)

// spareThreads are enough for the loop, the control reader, signals and one blocking call.
const spareThreads = 5

// Main runs one job and returns the exit status: 0 only after the end was reported and no
// process of the command was left.
func Main() int {
	score := proc.OpenOOMScore()
	proc.CloseOnExec()
	if err := errors.Join(proc.Hide(), proc.AdoptOrphans()); err != nil {
		fmt.Fprintln(os.Stderr, "runner supervise:", err)
		return 1
	}
	if err := unix.SetNonblock(fdControl, true); err != nil {
		fmt.Fprintln(os.Stderr, "runner supervise is started by runner serve:", err)
		return 1
	}
	control := link.NewConn(os.NewFile(fdControl, "control"))
	frame, err := control.Receive()
	var job link.Exec
	if err == nil {
		err = frame.Decode(&job)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner supervise: job:", err)
		return 1
	}
	if frame.T == TProbe {
		return runProbe(&job)
	}
	return run(control, &job, score)
}

func run(control *link.Conn, job *link.Exec, score *proc.OOMScore) int {
	proc.ParkThreads(spareThreads)
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	// A user may signal the supervisor where the kernel cannot forbid it; all but KILL and STOP
	// are received and forgotten. Ignoring them would be inherited by the command.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT,
		unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGABRT, unix.SIGTSTP,
		unix.SIGTTIN, unix.SIGTTOU, unix.SIGVTALRM, unix.SIGPROF, unix.SIGXCPU, unix.SIGXFSZ)
	t := newTask(job, control)
	pid, err := start(job, score)
	for _, fd := range []int{fdStdin, fdStdout, fdStderr} {
		unix.Close(fd) // else the pipes would stay open as long as we live
	}
	if err != nil {
		return t.refused(err)
	}
	t.root = pid
	if err := control.Send(link.Start{T: "start", ID: job.ID, PID: pid}, nil); err != nil {
		t.kill("LinkLost", 0)
	}
	t.loop(children, kills(control))
	return t.report()
}

// kills delivers the kill frames; a closed control means that PID 1 is gone.
func kills(control *link.Conn) <-chan link.Kill {
	ch := make(chan link.Kill, 4)
	go func() {
		zero := int64(0)
		for {
			f, err := control.Receive()
			if err != nil {
				ch <- link.Kill{Reason: "LinkLost", GraceMs: &zero}
				return
			}
			var k link.Kill
			if f.Decode(&k) == nil {
				ch <- k
			}
		}
	}()
	return ch
}

// newTask starts the clock.
func newTask(job *link.Exec, control *link.Conn) *task {
	limit := defaultProcesses
	if job.Limits.Processes != nil {
		limit = *job.Limits.Processes
	}
	return &task{
		job: job, control: control, processes: limit, began: time.Now(),
		reader: proc.NewReader(), killed: map[int]uint64{},
	}
}
