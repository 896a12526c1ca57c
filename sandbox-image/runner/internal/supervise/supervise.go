// Package supervise is the process between PID 1 and one command: it adopts the command's orphans,
// enforces its time limit and its number of processes, and ends only when nothing is left. There is
// one for each command and each session. It may import sandbox, proc and link; serve starts it.
package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"agentfleet.dev/runner/internal/sandbox"
	"golang.org/x/sys/unix"
)

// Descriptors that PID 1 hands over.
const (
	fdControl = 3
	fdStdout  = 4
	fdStderr  = 5
	fdStdin   = 6
)

// TExec, TSession and TProbe are the jobs; all carry a link.Exec.
const (
	TExec     = "exec"
	TSession  = "session"
	TProbe    = "probe"
	TEscalate = "escalate"
)

// spareThreads are enough for the loop, the control reader, signals, a collection and the thread
// that the command is started from, which is thrown away.
const spareThreads = 12

// Main runs one job and returns the exit status: 0 only after the end was reported and no
// process of the command was left.
func Main() int {
	score := proc.OpenOOMScore()
	proc.CloseOnExec()
	if err := errors.Join(proc.Hide(), proc.AdoptOrphans(), proc.DropCapabilities()); err != nil {
		fmt.Fprintln(os.Stderr, "runner supervise:", err)
		return 1
	}
	if err := unix.SetNonblock(fdControl, true); err != nil {
		fmt.Fprintln(os.Stderr, "runner supervise is started by runner serve:", err)
		return 1
	}
	proc.ParkThreads(spareThreads)
	children, prepared := watchChildren(), sandbox.Begin()
	control := link.NewConn(os.NewFile(fdControl, "control"))
	// All above is done in advance: PID 1 keeps one supervisor waiting here.
	frame, err := control.Receive()
	if errors.Is(err, io.EOF) {
		return 0
	}
	var job link.Exec
	if err == nil {
		err = frame.Decode(&job)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner supervise: job:", err)
		return 1
	}
	switch frame.T {
	case TProbe:
		return runProbe(&job, prepared)
	case TSession:
		return newSession(newTask(&job, control)).main(frame.Body, score, prepared, children)
	case TExec:
		return newTask(&job, control).run(frame.Body, score, prepared, children)
	}
	fmt.Fprintf(os.Stderr, "runner supervise: job: frame %q is none\n", frame.T)
	return 1
}

func watchChildren() <-chan os.Signal {
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	// A user may signal the supervisor where the kernel cannot forbid it; all but KILL and STOP
	// are received and forgotten. Ignoring them would be inherited by the command.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT,
		unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGABRT, unix.SIGTSTP,
		unix.SIGTTIN, unix.SIGTTOU, unix.SIGVTALRM, unix.SIGPROF, unix.SIGXCPU, unix.SIGXFSZ)
	return children
}

func (t *task) run(body []byte, score *proc.OOMScore, p *sandbox.Prepared, children <-chan os.Signal) int {
	io, err := t.streams(body)
	if err == nil {
		t.root, err = start(t.job, io, score, p)
	}
	// Else the pipes would stay open as long as we live.
	for _, fd := range append(io.files, fdStdin, fdStdout, fdStderr) {
		unix.Close(int(fd))
	}
	if err != nil {
		return t.refused(err)
	}
	// A PID 1 that is gone shows in the control as well.
	_ = t.control.Send(link.Start{T: "start", ID: t.job.ID, PID: t.root}, nil)
	t.loop(children, kills(t.control))
	return t.report()
}

func (t *task) streams(body []byte) (streams, error) {
	if t.job.Pty != nil {
		// PID 1 holds the master; opening it here does not make it our own terminal.
		fd, err := unix.Open(terminalPath(t.job.Pty), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return streams{}, refuse(notExecutable, err, "this container has no terminals: /dev/pts: "+err.Error())
		}
		return streams{files: []uintptr{uintptr(fd), uintptr(fd), uintptr(fd)}, terminal: true}, nil
	}
	if t.job.StdinOpen {
		return streams{files: []uintptr{fdStdin, fdStdout, fdStderr}}, nil
	}
	stdin, err := input(body)
	return streams{files: []uintptr{uintptr(stdin), fdStdout, fdStderr}}, err
}

// input returns a descriptor of standard input that needs no writer. Empty input is /dev/null and
// not an empty file or pipe: some tools then search the directory instead.
func input(body []byte) (int, error) {
	if len(body) == 0 {
		return unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	// A node that forbids executable memory files refuses a request for one.
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err != nil {
		fd, err = unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	for off := 0; off < len(body); {
		n, err := unix.Pwrite(fd, body[off:], int64(off))
		if err != nil {
			unix.Close(fd)
			return -1, os.NewSyscallError("pwrite", err)
		}
		off += n
	}
	return fd, nil
}

// kills delivers the kill and interrupt frames; a closed control means that PID 1 is gone.
func kills(control *link.Conn) <-chan link.Kill {
	ch := make(chan link.Kill, 4)
	go func() {
		zero := int64(0)
		for {
			f, err := control.Receive()
			if err != nil {
				ch <- link.Kill{T: "kill", Reason: "LinkLost", GraceMs: &zero}
				return
			}
			k := link.Kill{T: f.T}
			if f.Decode(&k) == nil {
				ch <- k
			}
		}
	}()
	return ch
}

func newTask(job *link.Exec, control *link.Conn) *task {
	limit := defaultProcesses
	if job.Limits.Processes != nil {
		limit = *job.Limits.Processes
	}
	t := &task{
		job: job, control: control, processes: limit, began: time.Now(),
		reader: proc.NewReader(), killed: map[int]uint64{}, more: make(chan struct{}, 1),
	}
	if job.Trace {
		t.trace = newTrace()
	}
	return t
}
