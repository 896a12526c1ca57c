package files

import (
	"bufio"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxWalkers: more threads than this only contend for the directory locks of one file system.
	maxWalkers = 4
	// recordHead: depth, length of the name, the flag of unreported names, six numbers.
	recordHead = 2 + 2 + 2 + 6*8
	maxDepth   = math.MaxUint16
	// ticking is how long the kernel's clock for ctime may stand still: a change this close to a listing can hide another.
	ticking = 20 * time.Millisecond
)

// seen is the state by which a name is known to be unchanged.
type seen struct {
	ino        uint64
	ctim, mtim unix.Timespec
	size       int64
	nlink      uint64
	mode       uint32
}

func seenIn(st *unix.Stat_t) seen {
	return seen{st.Ino, st.Ctim, st.Mtim, st.Size, uint64(st.Nlink), st.Mode}
}

func (s *seen) isFolder() bool { return s.mode&unix.S_IFMT == unix.S_IFDIR }

type entry struct {
	name string
	seen seen
	// changed: it differs from the last report.
	changed bool
	folder  *folder
}

// folder is one directory of a walk, with the cache for the next walk.
type folder struct {
	done    chan struct{}
	entries []entry
	// listed is the folder itself as it was when its names were read; they are the same for as long as it is and sure.
	listed seen
	sure   bool
	// blind: an entry could not be read, so that a name without a record is not known to be
	// unchanged.
	blind bool
	// dirty: it or something below must be reported.
	dirty bool
}

type walker struct {
	root  int
	limit int64
	seen  atomic.Int64
	seats chan struct{}
	now   func() time.Time
}

func newWalker(root int, limit int64, now func() time.Time) *walker {
	return &walker{root: root, limit: limit, now: now, seats: make(chan struct{}, min(maxWalkers, runtime.GOMAXPROCS(0)))}
}

// walk begins with the top; all is known when its done is closed and those of the folders below.
func (w *walker) walk(top *folder) {
	top.done = make(chan struct{})
	go w.look(top, ".", 1)
}

// look fills a folder and starts the walk of those in it.
func (w *walker) look(f *folder, path string, depth int) {
	w.seats <- struct{}{}
	defer func() {
		<-w.seats
		close(f.done)
	}()
	f.blind, f.dirty = depth > maxDepth, false
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(w.root, path, &how)
	if err == nil {
		defer unix.Close(fd)
		err = f.list(fd, w.now())
	}
	if err != nil || f.blind || w.seen.Add(int64(len(f.entries))) > w.limit {
		f.entries, f.blind, f.sure = nil, true, false
		return
	}
	for i := range f.entries {
		e := &f.entries[i]
		var st unix.Stat_t
		if unix.Fstatat(fd, e.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			// It is gone, or the file system cannot stat it: the cache is invalid.
			e.seen, e.folder, f.blind = seen{}, nil, true
			continue
		}
		now := seenIn(&st)
		e.changed = e.seen != now
		e.seen = now
		if !now.isFolder() {
			e.folder = nil
			continue
		}
		if e.folder == nil {
			e.folder = &folder{}
		}
		e.folder.done = make(chan struct{})
		go w.look(e.folder, path+"/"+e.name, depth+1)
	}
}

// list updates the entries to the folder's current names; cached state of a name stays.
func (f *folder) list(fd int, now time.Time) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	self := seenIn(&st)
	if f.sure && f.listed == self {
		return nil
	}
	names, err := namesIn(fd)
	if err != nil {
		return err
	}
	known := f.entries
	f.entries = make([]entry, len(names))
	for i, name := range names {
		for len(known) > 0 && known[0].name < name {
			known = known[1:]
		}
		if f.entries[i].name = name; len(known) > 0 && known[0].name == name {
			f.entries[i] = known[0]
		}
	}
	f.listed, f.sure = self, time.Unix(self.ctim.Unix()).Add(ticking).Before(now)
	return nil
}

// namesIn are the names in an open folder, from where its offset stands, in the order of their bytes.
func namesIn(fd int) ([]string, error) {
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("getdents", err)
		}
		if n <= 0 {
			slices.Sort(names)
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// mark waits for a folder and all below, and marks folders with changes.
func (f *folder) mark() bool {
	<-f.done
	f.dirty = f.blind
	for i := range f.entries {
		e := &f.entries[i]
		below := e.folder != nil && e.folder.mark()
		f.dirty = f.dirty || below || e.changed
	}
	return f.dirty
}

// write reports all names below, in order, or only the changes and the folders on the way to them.
func (f *folder) write(b *bufio.Writer, depth int, all bool) {
	<-f.done
	record := make([]byte, 0, recordHead+255)
	for i := range f.entries {
		e := &f.entries[i]
		if e.seen == (seen{}) || (!all && !e.changed && (e.folder == nil || !e.folder.dirty)) {
			continue
		}
		if e.folder != nil {
			// Only known now: whether a name below is unreported.
			<-e.folder.done
		}
		record = appendRecord(record[:0], depth, e)
		_, _ = b.Write(record)
		if e.folder != nil {
			e.folder.write(b, depth+1, all)
		}
	}
}

func appendRecord(to []byte, depth int, e *entry) []byte {
	to = binary.LittleEndian.AppendUint16(to, uint16(depth))
	to = binary.LittleEndian.AppendUint16(to, uint16(len(e.name)))
	blind := uint16(0)
	if e.folder != nil && e.folder.blind {
		blind = 1
	}
	to = binary.LittleEndian.AppendUint16(to, blind)
	s := &e.seen
	for _, n := range [...]float64{
		float64(s.ino), milliseconds(s.ctim), milliseconds(s.mtim), float64(s.size), float64(s.mode), float64(s.nlink),
	} {
		to = binary.LittleEndian.AppendUint64(to, math.Float64bits(n))
	}
	return append(to, e.name...)
}

// milliseconds rounds as Node does: the conversion in between forbids a fused multiply-add.
func milliseconds(t unix.Timespec) float64 {
	return float64(float64(t.Sec)*1000) + float64(t.Nsec)/1e6
}
