package supervise

import (
	"fmt"
	"os"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"golang.org/x/sys/unix"
)

// nextRound kills all remaining processes except the shell.
func (s *session) nextRound() {
	if s.killing {
		s.killRound()
		return
	}
	if s.settling.IsZero() && !s.forced {
		return
	}
	others, known := s.others()
	for _, p := range others {
		if s.killed[p.PID] != p.Start+1 {
			s.killed[p.PID] = p.Start + 1
			s.swept++
		}
		if p.Group > 1 && p.Group != s.root {
			_ = unix.Kill(-p.Group, unix.SIGKILL)
		}
		_ = unix.Kill(p.PID, unix.SIGKILL)
	}
	if known && len(others) == 0 {
		s.quiet++
	} else {
		s.quiet = 0
	}
	switch {
	case s.settling.IsZero():
		s.round.Reset(roundPause)
	case s.frozen && s.quiet >= 2:
		s.settle()
	case time.Since(s.settling) > settleMost:
		s.beginKilling()
	case s.quiet == 1 && s.frozen:
		s.nextRound()
	default:
		s.round.Reset(roundPause / 4)
	}
}

// settle ends a run: the shell is frozen and alone.
func (s *session) settle() {
	// More threads would not be stopped, and an unreadable process is not known to be a shell.
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", s.root))
	if err != nil || threads(s.root) != 1 {
		s.beginKilling()
		return
	}
	s.cwd = cwd
	s.finish(true)
}

func (s *session) finish(alive bool) {
	s.timeout.Stop()
	s.grace.Stop()
	s.unwinding.Stop()
	s.watch.Reset(time.Hour)
	if !s.opened {
		s.opened = alive
		s.run = nil
		_ = s.control.Send(link.Start{T: "start", ID: s.job.ID, PID: s.root, Shell: s.shell}, nil)
		return
	}
	end := s.end("end")
	end.CPUMs, end.MaxRSSBytes = max(0, s.cpuNow()-s.cpu), 0
	end.ID, end.DurationMs = s.run.ID, time.Since(s.started).Milliseconds()
	switch {
	case s.timedOut || s.reason != nil:
		name := "SIGTERM"
		end.Signal, end.ExitCode = &name, nil
	case s.outcome != nil:
		end.Signal, end.ExitCode = nil, &s.outcome.status
	}
	end.Session = &link.ShellState{Alive: alive, Cwd: s.cwd}
	s.run = nil
	_ = s.control.Send(end, []byte(s.exports))
}

// cpuNow is the CPU time of the tree, for processes that were waited for.
func (s *session) cpuNow() int64 {
	var use unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &use)
	return (use.Utime.Nano()+use.Stime.Nano())/int64(time.Millisecond) + proc.CPUMillis(s.root)
}

func (s *session) over() int {
	if !s.opened && s.fault == nil {
		s.fault = &link.Fault{Code: "EIO", Message: fmt.Sprintf("the shell %q ended before it took a command", s.shell)}
	}
	if s.opened && s.run != nil {
		s.finish(false)
	}
	if err := s.control.Send(link.Closed{T: "closed", ID: s.job.ID, Error: s.fault}, nil); err != nil {
		return 1
	}
	return 0
}

// eventStop is PTRACE_EVENT_STOP: the stop that was asked for, as apart from one at a signal.
const eventStop = 128

// A shell that waits between two runs must do nothing: snapshots are taken meanwhile. SIGSTOP is
// not enough, as a process can have the kernel send SIGCONT to it (a timer, a lease, a terminal). A
// traced and stopped process runs no instruction whatever signal arrives, except to die. The calls
// must be made from one thread, the session loop's.

// freeze asks the process to stop; wait reports that it did.
func freeze(pid int) error {
	if err := ptrace(unix.PTRACE_SEIZE, pid, 0); err != nil {
		return err
	}
	return ptrace(unix.PTRACE_INTERRUPT, pid, 0)
}

// pendingSignal is the signal that a frozen process was stopped at, and gets at thaw.
func pendingSignal(ws unix.WaitStatus) unix.Signal {
	if int(ws)>>16 == eventStop {
		return 0
	}
	return ws.StopSignal()
}

func thaw(pid int, signal unix.Signal) error {
	return ptrace(unix.PTRACE_DETACH, pid, uintptr(signal))
}

func ptrace(request, pid int, value uintptr) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), 0, value, 0, 0)
	if e != 0 {
		return os.NewSyscallError("ptrace", e)
	}
	return nil
}

// threads counts them; only one was stopped.
func threads(pid int) int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return -1
	}
	return len(entries)
}
