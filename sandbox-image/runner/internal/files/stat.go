package files

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	// maxWalkers: more threads than this only contend for the directory locks of one file system.
	maxWalkers = 4
	// recordHead: depth, length of the name, six numbers.
	recordHead = 2 + 2 + 6*8
	maxDepth   = math.MaxUint16
)

// folder is one directory of the walk: the records of its names, and which of them are folders.
type folder struct {
	done    chan struct{}
	records []byte
	// below are the folders in it, each behind the record that ends at its offset.
	below []below
}

type below struct {
	at     int
	folder *folder
}

// walker stats a whole tree with several threads.
type walker struct {
	root  int
	limit int64
	seen  atomic.Int64
	seats chan struct{}
}

// Stat writes one record for every name below root, folders before what they hold, names in the
// order of their bytes: depth, length of the name (16 bits each), inode, ctime and mtime in
// milliseconds, size, mode, links (64-bit floats, all little-endian), name. What cannot be looked
// into has a record and nothing below it. More than limit names are an error. Links are never
// followed.
func Stat(root string, limit int64, out, errs io.Writer) int {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		fmt.Fprintf(errs, "runner stat: %s: %v\n", root, err)
		return 1
	}
	defer unix.Close(fd)
	w := &walker{root: fd, limit: limit, seats: make(chan struct{}, min(maxWalkers, runtime.GOMAXPROCS(0)))}
	top := newFolder()
	go w.look(top, ".", 1)
	b := bufio.NewWriterSize(out, 256<<10)
	top.write(b)
	if err := b.Flush(); err != nil {
		return 1
	}
	if w.seen.Load() > limit {
		fmt.Fprintf(errs, "runner stat: more than %d names\n", limit)
		return 1
	}
	return 0
}

func newFolder() *folder { return &folder{done: make(chan struct{})} }

// write waits for each folder in its turn and gives its memory back.
func (f *folder) write(b *bufio.Writer) {
	<-f.done
	from := 0
	for _, sub := range f.below {
		_, _ = b.Write(f.records[from:sub.at])
		from = sub.at
		sub.folder.write(b)
	}
	_, _ = b.Write(f.records[from:])
	f.records, f.below = nil, nil
}

// look fills a folder and starts the walk of those in it.
func (w *walker) look(f *folder, path string, depth int) {
	w.seats <- struct{}{}
	defer func() {
		<-w.seats
		close(f.done)
	}()
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(w.root, path, &how)
	if err != nil || depth > maxDepth {
		return
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil || w.seen.Add(int64(len(names))) > w.limit {
		return
	}
	slices.Sort(names)
	f.records = make([]byte, 0, len(names)*(recordHead+16))
	for _, name := range names {
		var st unix.Stat_t
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		f.records = appendRecord(f.records, depth, name, &st)
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			sub := newFolder()
			f.below = append(f.below, below{len(f.records), sub})
			go w.look(sub, path+"/"+name, depth+1)
		}
	}
}

func appendRecord(to []byte, depth int, name string, st *unix.Stat_t) []byte {
	to = binary.LittleEndian.AppendUint16(to, uint16(depth))
	to = binary.LittleEndian.AppendUint16(to, uint16(len(name)))
	for _, n := range [...]float64{
		float64(st.Ino), milliseconds(st.Ctim), milliseconds(st.Mtim), float64(st.Size), float64(st.Mode), float64(st.Nlink),
	} {
		to = binary.LittleEndian.AppendUint64(to, math.Float64bits(n))
	}
	return append(to, name...)
}

// milliseconds rounds as Node does: the conversion in between forbids a fused multiply-add.
func milliseconds(t unix.Timespec) float64 {
	return float64(float64(t.Sec)*1000) + float64(t.Nsec)/1e6
}
