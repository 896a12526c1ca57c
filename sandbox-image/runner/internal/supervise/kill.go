package supervise

import (
	"fmt"
	"os"
	"time"

	"agentfleet.dev/runner/internal/link"
	"golang.org/x/sys/unix"
)

func (t *task) signalTree(sig unix.Signal) {
	groups := map[int]bool{}
	for _, p := range t.tree() {
		if p.Group == t.root && !groups[p.Group] {
			groups[p.Group] = true
			_ = unix.Kill(-p.Group, sig)
		}
		if p.Group != t.root {
			_ = unix.Kill(p.PID, sig)
		}
	}
}

func (t *task) beginKilling() {
	if !t.killing {
		t.killing = true
		t.fruitful = time.Now()
		t.killRound()
	}
}

// killRound kills all that the ancestry shows now; the loop repeats it until nothing is left.
// Killing a whole group is one step for the kernel, so a member cannot fork out of it. Processes
// that are found again and again without new ones die slowly (a large memory is freed): it waits
// for them. If new processes appear over a second of rounds, or none is seen and the kernel still
// knows a child, they outrun the killing or the reading of /proc: then PID 1 is asked for the one
// step that no process can outrun.
func (t *task) killRound() {
	seen := t.tree()
	groups, fresh := map[int]bool{}, len(seen) == 0
	for _, p := range seen {
		if t.killed[p.PID] != p.Start+1 {
			fresh = true
			t.killed[p.PID] = p.Start + 1
			if p.PID != t.root {
				t.swept++
			}
		}
		if p.Group > 1 && !groups[p.Group] { // minus one would be everybody
			groups[p.Group] = true
			_ = unix.Kill(-p.Group, unix.SIGKILL)
		}
		_ = unix.Kill(p.PID, unix.SIGKILL)
	}
	now := time.Now()
	if !fresh {
		t.fruitful = now
		t.round.Reset(slowPause)
		return
	}
	if now.Sub(t.fruitful) > escalateAfter && !t.escalate {
		t.escalate = true
		_ = t.control.Send(t.end(TEscalate), nil)
	}
	t.round.Reset(roundPause)
}

func (t *task) refused(err error) int {
	r := refusalOf(err)
	end := link.End{T: "end", ID: t.job.ID, ExitCode: &r.exit, Error: &r.fault}
	if err := t.control.Send(end, nil); err != nil {
		return 1
	}
	return 0
}

// report sends the end. The kernel has reported an empty tree.
func (t *task) report() int {
	if err := t.control.Send(t.end("end"), nil); err != nil {
		return 1
	}
	return 0
}

// end is the current state; PID 1 adds bytes and oom, which only it knows.
func (t *task) end(kind string) link.End {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &use); err != nil {
		fmt.Fprintln(os.Stderr, "runner supervise: rusage:", err)
	}
	end := link.End{
		T: kind, ID: t.job.ID, TimedOut: t.timedOut, Killed: t.reason, Swept: t.swept,
		DurationMs:  time.Since(t.began).Milliseconds(),
		CPUMs:       (use.Utime.Nano() + use.Stime.Nano()) / int64(time.Millisecond),
		MaxRSSBytes: use.Maxrss * 1024,
	}
	if t.trace != nil {
		end.Commands, end.More = t.trace.seen, t.trace.more
	}
	switch {
	case !t.rootDone:
	case t.status.Signaled():
		name := unix.SignalName(t.status.Signal())
		end.Signal = &name
	default:
		code := t.status.ExitStatus()
		end.ExitCode = &code
	}
	return end
}
