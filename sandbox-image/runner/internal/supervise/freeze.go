package supervise

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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

// thaw lets it go on, untraced.
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
