package sandbox

import (
	"os"

	"agentfleet.dev/runner/internal/link"
	"golang.org/x/sys/unix"
)

// minOpenFiles keeps the supervisor, which shares the limit, able to read /proc.
const minOpenFiles = 64

type limit struct {
	resource   int
	soft, hard uint64
}

func chosen(l link.Limits) []limit {
	all := []limit{{unix.RLIMIT_CORE, 0, 0}}
	if l.FileSizeBytes != nil {
		all = append(all, limit{unix.RLIMIT_FSIZE, *l.FileSizeBytes, *l.FileSizeBytes})
	}
	if l.OpenFiles != nil {
		n := max(*l.OpenFiles, minOpenFiles)
		all = append(all, limit{unix.RLIMIT_NOFILE, n, n})
	}
	return all
}

// SetLimits sets the limits of the calling process, which its children inherit. Not among them:
// address space (Go, Node and Java reserve far more than they use) and the number of processes
// (the kernel counts the uid over all pods of the node; a watchdog counts the tree instead).
func SetLimits(l link.Limits) error {
	for _, c := range chosen(l) {
		var old unix.Rlimit
		if err := unix.Getrlimit(c.resource, &old); err != nil {
			return os.NewSyscallError("getrlimit", err)
		}
		now := unix.Rlimit{Cur: min(c.soft, old.Max), Max: min(c.hard, old.Max)}
		if err := unix.Prlimit(0, c.resource, &now, nil); err != nil {
			return os.NewSyscallError("prlimit", err)
		}
	}
	return nil
}

// ofChild are limits that the supervisor cannot live under itself: the Go runtime maps more than small limits of memory
// allow, and its looks at /proc take CPU as long as the command lives.
func ofChild(l link.Limits) (all []limit) {
	if l.CPUSeconds != nil {
		// SIGXCPU at the soft limit, SIGKILL at the hard one.
		all = append(all, limit{unix.RLIMIT_CPU, *l.CPUSeconds, *l.CPUSeconds + 1})
	}
	if l.DataBytes != nil {
		all = append(all, limit{unix.RLIMIT_DATA, *l.DataBytes, *l.DataBytes})
	}
	return all
}

// WithLimits runs start under soft limits on CPU time and private memory, then makes them hard for the process that start
// returned. A program that raises its soft limit of memory in the moment before that is bounded by that of the container.
func WithLimits(l link.Limits, start func() (int, error)) (pid int, err error) {
	all := ofChild(l)
	var old []unix.Rlimit
	for _, c := range all {
		was, e := soften(c)
		if e != nil {
			err = e
			break
		}
		old = append(old, was)
	}
	if err == nil {
		pid, err = start()
	}
	for i, was := range old {
		c := all[i]
		if e := unix.Prlimit(0, c.resource, &was, nil); e != nil && err == nil {
			err = os.NewSyscallError("prlimit", e)
		}
		if pid > 0 {
			// It may have ended already: then there is nothing to limit.
			_ = unix.Prlimit(pid, c.resource, &unix.Rlimit{Cur: min(c.soft, was.Max), Max: min(c.hard, was.Max)}, nil)
		}
	}
	return pid, err
}

// soften sets a soft limit of the calling process and returns what it was.
func soften(c limit) (unix.Rlimit, error) {
	var old unix.Rlimit
	if err := unix.Getrlimit(c.resource, &old); err != nil {
		return old, os.NewSyscallError("getrlimit", err)
	}
	if err := unix.Prlimit(0, c.resource, &unix.Rlimit{Cur: min(c.soft, old.Max), Max: old.Max}, nil); err != nil {
		return old, os.NewSyscallError("prlimit", err)
	}
	return old, nil
}
