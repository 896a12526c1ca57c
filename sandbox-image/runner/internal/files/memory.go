package files

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxRemembered names of one tree, about 10 MiB; a larger one is reported whole each time.
	maxRemembered = 1 << 17
	// Kinds of an answer.
	isWhole, isChanges = 0, 1
	tokenBytes         = 16
)

// token identifies an answer and is unique: a keeper that outlives its program gets the whole tree.
type token [tokenBytes]byte

// Memory caches reported trees, so that the next answer has only the changes.
type Memory struct {
	mu    sync.Mutex
	trees map[string]*tree
	// now is the clock that the kernel stamps files with.
	now func() time.Time
}

type tree struct {
	mu sync.Mutex
	// answered is the token of the last answer; zero: none.
	answered token
	device   uint64
	top      *folder
}

// NewMemory remembers nothing yet.
func NewMemory() *Memory { return &Memory{trees: map[string]*tree{}, now: time.Now} }

func (m *Memory) tree(root string) *tree {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.trees[root]
	if t == nil {
		t = &tree{}
		m.trees[root] = t
	}
	return t
}

// Stat reports every name below root: a token of this answer, one byte that states whether all of
// them follow (0) or only those that differ from the answer whose token is since, with the folders
// on the way to them (1), then a record for each: folders before what they hold, names in the order
// of their bytes: depth, length of the name, 1 for a folder where some names may lack a record (16
// bits each), inode, ctime and mtime in milliseconds, size, mode, links (64-bit floats, all
// little-endian), name. A folder that cannot be read has a record and nothing below it. More than
// limit names are an error. Links are never followed.
func (m *Memory) Stat(root string, limit int64, since string, out, errs io.Writer) int {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		fmt.Fprintf(errs, "runner stat: %s: %v\n", root, err)
		return 1
	}
	defer unix.Close(fd)
	t := m.tree(root)
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.recall(fd, since)
	w := newWalker(fd, limit, m.now)
	w.walk(t.top)
	if !all {
		t.top.mark()
		all = t.top.blind
	}
	next := newToken()
	err = t.top.tell(out, next, all)
	// Now all of the walk has ended.
	count := w.seen.Load()
	if err != nil || count > limit || t.top.blind {
		t.forget()
	} else if t.answered = next; count > maxRemembered {
		t.forget()
	}
	if count > limit {
		fmt.Fprintf(errs, "runner stat: more than %d names\n", limit)
		return 1
	}
	if err != nil {
		return 1
	}
	return 0
}

// recall reports whether the whole tree must be sent. The cache is invalid until the answer is
// complete.
func (t *tree) recall(fd int, since string) (all bool) {
	var st unix.Stat_t
	same := unix.Fstat(fd, &st) == nil && uint64(st.Dev) == t.device && t.answered != token{} && hex.EncodeToString(t.answered[:]) == since
	if !same {
		t.forget()
		t.top = &folder{}
	}
	t.device, t.answered = uint64(st.Dev), token{}
	return !same
}

func (t *tree) forget() { t.answered, t.device, t.top = token{}, 0, nil }

// tell writes an answer while its walk is still running.
func (f *folder) tell(out io.Writer, name token, all bool) error {
	b := bufio.NewWriterSize(out, 256<<10)
	kind := byte(isChanges)
	if all {
		kind = isWhole
	}
	_, _ = b.Write(name[:])
	_ = b.WriteByte(kind)
	f.write(b, 1, all)
	return b.Flush()
}

func newToken() (t token) {
	_, _ = rand.Read(t[:])
	return t
}
