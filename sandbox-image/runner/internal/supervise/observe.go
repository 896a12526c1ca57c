package supervise

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strconv"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"golang.org/x/sys/unix"
)

const (
	// traceMost is the longest time between two scans of a traced tree, while scans are cheap: a
	// shorter-lived process may be missed.
	traceMost = 20 * time.Millisecond
	// lookShare bounds the cost of scans: the pause is at least this many times the duration of the
	// last one.
	lookShare = 20
	maxSeen   = 256
	// maxLine bytes are read of a line; the keeper keeps less, so that redaction sees secrets
	// whole.
	maxLine = 8 << 10
	// maxSeenJSON keeps the end within a frame, whatever the words are.
	maxSeenJSON = link.MaxPart / 2
)

// observed is one observation of a process: another line with the same start time is another exec.
type observed struct {
	start, line uint64
}

// trace collects the commands of descendants, by looking at them.
type trace struct {
	seed        maphash.Seed
	buf         []byte
	known, next map[int]observed // processes at the last scan, and at this one
	seen        []link.Seen
	room        int
	more        int
	cost        time.Duration // of the last scan, the reading of the tree included
}

func newTrace() *trace {
	return &trace{
		seed: maphash.MakeSeed(), buf: make([]byte, maxLine), room: maxSeenJSON,
		known: map[int]observed{}, next: map[int]observed{},
	}
}

func (r *trace) pause() time.Duration {
	return min(watchMost, max(traceMost, lookShare*r.cost))
}

// look adds new processes of a tree. A child with its parent's program was forked and has not
// executed anything.
func (r *trace) look(tree []proc.Process, root int, began time.Time) {
	// Parents before their children.
	slices.SortFunc(tree, func(a, b proc.Process) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	clear(r.next)
	for _, p := range tree {
		line := r.commandLine(p.PID)
		if len(line) == 0 {
			continue
		}
		now := observed{p.Start, maphash.Bytes(r.seed, line)}
		r.next[p.PID] = now
		if p.PID != root && r.known[p.PID] != now && r.next[p.Parent].line != now.line {
			r.addSeen(p, line, time.Since(began))
		}
	}
	r.known, r.next = r.next, r.known
}

func (r *trace) addSeen(p proc.Process, line []byte, at time.Duration) {
	if len(r.seen) == maxSeen {
		r.more++
		return
	}
	words := bytes.Split(bytes.TrimRight(line, "\x00"), []byte{0})
	argv := make([]string, len(words))
	for i, word := range words {
		argv[i] = string(bytes.ToValidUTF8(word, []byte("?")))
	}
	seen := link.Seen{PID: p.PID, Parent: p.Parent, AtMs: at.Milliseconds(), Argv: argv}
	size, err := json.Marshal(seen)
	if err != nil || len(size) > r.room {
		r.more++
		return
	}
	r.room -= len(size)
	r.seen = append(r.seen, seen)
}

// commandLine reads the arguments of a process, each with a 0 after it, up to maxLine; empty for one that is gone. It is valid until the next call.
func (r *trace) commandLine(pid int) []byte {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/cmdline", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	n, _ := unix.Read(fd, r.buf)
	return r.buf[:max(0, n)]
}
