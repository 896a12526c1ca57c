package serve

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"agentfleet.dev/runner/internal/proc"
	"golang.org/x/sys/unix"
)

const collectMost = 512

// reaper is the duty of PID 1: it reaps every child, and notifies the owner when the child is a
// supervisor. Nothing else in the process may wait for children.
type reaper struct {
	mu     sync.Mutex
	owners map[int]chan unix.WaitStatus // live supervisors
	reader *proc.Reader
	sweeps sync.Mutex
}

func newReaper() *reaper {
	r := &reaper{owners: map[int]chan unix.WaitStatus{}, reader: proc.NewReader()}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		for range ended {
			r.collect()
		}
	}()
	return r
}

// collect takes some at a time: processes that fork and end on and on must not hold the lock.
func (r *reaper) collect() {
	for r.collectSome() {
	}
}

func (r *reaper) collectSome() (more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range collectMost {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG|unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return false
		}
		if owner, ok := r.owners[pid]; ok {
			delete(r.owners, pid)
			owner <- ws
		}
	}
	return true
}

// spawn starts a supervisor with the descriptors files as 0, 1, 2, …. The lock makes sure that
// it is known before it can be collected, or be taken for a stray.
func (r *reaper) spawn(files []uintptr) (int, <-chan unix.WaitStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"runner", "supervise"}, &syscall.ProcAttr{
		Dir: "/",
		// No collection below the limit: a supervisor makes next to no garbage.
		Env:   []string{"GOMAXPROCS=2", "GOGC=off", "GOMEMLIMIT=12MiB", "GOTRACEBACK=none"},
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, nil, err
	}
	owner := make(chan unix.WaitStatus, 1)
	r.owners[pid] = owner
	return pid, owner, nil
}

// killStrays kills processes that lost their supervisor, until two scans in a row find none. When
// new processes keep appearing for a second, all is called: the one step that no process can
// outrun.
func (r *reaper) killStrays(all func()) {
	r.sweeps.Lock()
	defer r.sweeps.Unlock()
	began, called := time.Now(), false
	for quiet := 0; quiet < 2; {
		if n := r.strayRound(); n > 0 {
			quiet = 0
		} else {
			quiet++
		}
		if !called && time.Since(began) > time.Second {
			called = true
			all()
		}
		r.collectSome()
		time.Sleep(2 * time.Millisecond)
	}
}

func (r *reaper) strayRound() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	processes, err := r.reader.Scan()
	if err != nil {
		return 1 // unknown is not empty
	}
	live := make(map[int]bool, len(r.owners))
	for pid := range r.owners {
		live[pid] = true
	}
	strays := proc.Below(processes, os.Getpid(), live)
	for _, p := range strays {
		_ = unix.Kill(p.PID, unix.SIGKILL)
	}
	return len(strays)
}
