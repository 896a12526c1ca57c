package supervise

import (
	"errors"
	"os"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"golang.org/x/sys/unix"
)

const defaultProcesses = 256

const (
	watchFirst = 5 * time.Millisecond
	watchMost  = 200 * time.Millisecond
	roundPause = 2 * time.Millisecond
	slowPause  = 50 * time.Millisecond
	reapMost   = 512
)

// processReader reads all processes there are. It is no single moment: one that is born while it reads can be missed.
type processReader interface {
	Scan() (map[int]proc.Process, error)
}

// task is the state of one command. Only the loop's goroutine touches it.
type task struct {
	job       *link.Exec
	control   *link.Conn
	reader    processReader
	processes int
	began     time.Time

	root     int
	more     chan struct{} // there may be more to reap
	rootDone bool
	empty    bool // the kernel returned ECHILD: no process of the tree is left
	status   unix.WaitStatus
	frozen   bool        // the shell of a session is stopped
	signal   unix.Signal // that it gets at thaw

	reason   *string
	timedOut bool
	ending   bool           // TERM was sent
	killing  bool           // KILL rounds run
	killed   map[int]uint64 // pid → start time of processes that got KILL
	swept    int
	fruitful time.Time // start of the rounds that still find new processes
	escalate bool

	trace *trace // nil: not requested

	timeout, grace, watch, round *time.Timer
	watchEvery                   time.Duration
}

// loop waits for the next event, until the tree is empty.
func (t *task) loop(children <-chan os.Signal, kills <-chan link.Kill) {
	t.watchEvery = watchFirst
	t.watch = time.NewTimer(t.watchEvery)
	t.timeout, t.grace, t.round = idle(), idle(), idle()
	if t.job.TimeoutMs > 0 {
		t.timeout.Reset(time.Duration(t.job.TimeoutMs) * time.Millisecond)
	}
	for t.reap(); !t.empty; t.reap() {
		if t.rootDone && !t.ending && !t.killing {
			t.beginKilling() // survivors of an end in peace get no grace
			continue
		}
		select {
		case <-t.more:
		case <-children:
		case <-t.timeout.C:
			t.timedOut = !t.rootDone
			t.terminate(time.Duration(t.job.GraceMs) * time.Millisecond)
		case k := <-kills:
			if k.T == "interrupt" {
				t.signalTree(unix.SIGINT)
				continue
			}
			t.kill(k.Reason, k.Grace(t.job.GraceMs))
		case <-t.grace.C:
			t.beginKilling()
		case <-t.watch.C:
			t.count()
		case <-t.round.C:
			t.killRound()
		}
	}
}

func idle() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// reap collects all that ended. ECHILD is the proof of an empty tree: orphans become our
// children, so while a descendant lives we have a child. Processes that fork and end on and on
// would keep us here for ever: after some the loop looks at its timers.
func (t *task) reap() {
	for range reapMost {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG|unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			t.empty = true
			return
		case err != nil || pid <= 0:
			return
		}
		switch {
		case pid != t.root:
		case ws.Stopped():
			t.frozen, t.signal = true, pendingSignal(ws)
		case !t.rootDone:
			t.rootDone, t.status = true, ws
		}
	}
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// kill ends the command for a reason; the first reason stays.
func (t *task) kill(reason string, grace time.Duration) {
	if t.reason == nil && !t.timedOut && !t.rootDone {
		t.reason = &reason
	}
	t.terminate(grace)
}

// terminate asks the tree to end and sets the time after which it is killed. A second call can
// only shorten that time.
func (t *task) terminate(grace time.Duration) {
	if t.killing {
		return
	}
	if grace <= 0 {
		t.beginKilling()
		return
	}
	if t.ending {
		return
	}
	t.ending = true
	t.signalTree(unix.SIGTERM)
	t.signalTree(unix.SIGCONT) // a stopped process could not receive TERM
	t.grace.Reset(grace)
}

// count is the watchdog over the number of processes. A limit by the kernel would count the
// user's processes in all pods of the node.
func (t *task) count() {
	most := watchMost
	if t.trace != nil {
		most = t.trace.pause()
	}
	t.watchEvery = min(2*t.watchEvery, most)
	t.watch.Reset(t.watchEvery)
	if t.killing {
		return
	}
	began := time.Now()
	tree := t.tree()
	if t.trace != nil {
		t.trace.look(tree, t.root, t.began)
		t.trace.cost = time.Since(began)
	}
	if len(tree) > t.processes {
		t.kill("ProcessLimit", 0)
	}
}

func (t *task) tree() []proc.Process {
	all, err := t.reader.Scan()
	if err != nil {
		return nil
	}
	return proc.Below(all, os.Getpid(), nil)
}
