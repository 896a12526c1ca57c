package serve

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

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
