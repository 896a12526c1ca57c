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
	if l.CPUSeconds != nil {
		// SIGXCPU at the soft limit, SIGKILL at the hard one.
		all = append(all, limit{unix.RLIMIT_CPU, *l.CPUSeconds, *l.CPUSeconds + 1})
	}
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

// WithData runs start under a soft limit of bytes on private memory, then makes it hard for the
// process that start returned. The supervisor itself cannot run under it: the Go runtime maps more
// than small limits allow. A program that raises its soft limit in the moment before that is
// bounded by the memory limit of the container.
func WithData(bytes *uint64, start func() (int, error)) (int, error) {
	if bytes == nil {
		return start()
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &old); err != nil {
		return 0, os.NewSyscallError("getrlimit", err)
	}
	n := min(*bytes, old.Max)
	if err := unix.Prlimit(0, unix.RLIMIT_DATA, &unix.Rlimit{Cur: n, Max: old.Max}, nil); err != nil {
		return 0, os.NewSyscallError("prlimit", err)
	}
	pid, err := start()
	if e := unix.Prlimit(0, unix.RLIMIT_DATA, &old, nil); e != nil && err == nil {
		err = os.NewSyscallError("prlimit", e)
	}
	if pid > 0 {
		// It may have ended already: then there is nothing to limit.
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: n, Max: n}, nil)
	}
	return pid, err
}
