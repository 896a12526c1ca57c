// Package proc reads /proc and the control group, and sets attributes of its own process.
package proc

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// Process is one line of /proc/PID/stat.
type Process struct {
	PID, Parent, Group int
	Threads            int
	State              byte
	Start              uint64
}

// Gone reports that the process only waits to be reaped. The state is that of its first thread: while others live, so does the process.
func (p Process) Gone() bool { return (p.State == 'Z' || p.State == 'X') && p.Threads <= 1 }

// Reader scans /proc again and again with the same buffers.
type Reader struct {
	dir   []byte
	names []string
	all   map[int]Process
}

// NewReader makes a Reader.
func NewReader() *Reader {
	return &Reader{dir: make([]byte, 8<<10), all: map[int]Process{}}
}

// Scan reads all processes of the PID namespace. Some may have ended meanwhile, and one that
// was forked during the scan may be missing: callers scan again until nothing is left.
func (r *Reader) Scan() (map[int]Process, error) {
	clear(r.all)
	fd, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.ReadDirent(fd, r.dir)
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return r.all, nil
		}
		_, _, r.names = unix.ParseDirent(r.dir[:n], -1, r.names[:0])
		for _, name := range r.names {
			if name[0] < '0' || name[0] > '9' {
				continue
			}
			if p, ok := readStat(fd, name); ok {
				r.all[p.PID] = p
			}
		}
	}
}

func readStat(dir int, name string) (Process, bool) {
	fd, err := unix.Openat(dir, name+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Process{}, false
	}
	defer unix.Close(fd)
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil || n <= 0 {
		return Process{}, false
	}
	return parseStat(buf[:n])
}

// parseStat reads the fields after the command name, which may itself hold spaces and brackets.
func parseStat(line []byte) (Process, bool) {
	pid, err := strconv.Atoi(string(line[:max(0, bytes.IndexByte(line, ' '))]))
	end := bytes.LastIndexByte(line, ')')
	if err != nil || end < 0 {
		return Process{}, false
	}
	p, n := Process{PID: pid}, 0
	// Without garbage: a collection among thousands of processes would run at the worst moment.
	for f := range bytes.FieldsSeq(line[end+1:]) {
		switch n {
		case 0:
			p.State = f[0]
		case 1:
			p.Parent = int(digits(f))
		case 2:
			p.Group = int(digits(f))
		case 17:
			p.Threads = int(digits(f))
		case 19:
			p.Start = digits(f)
			return p, true
		}
		n++
	}
	return Process{}, false
}

// digits reads a number; the fields in use are never negative for a process we can see.
func digits(f []byte) (n uint64) {
	for _, c := range f {
		if c < '0' || c > '9' {
			return 0
		}
		n = 10*n + uint64(c-'0')
	}
	return n
}

// Below returns the living processes under root by ancestry, root itself not included. Branches
// under a pid in except are left out, that pid as well.
func Below(all map[int]Process, root int, except map[int]bool) []Process {
	// in: 1 = under root, 2 = not; memorised so that long chains cost once.
	in := make(map[int]int8, len(all))
	var under func(pid, depth int) bool
	under = func(pid, depth int) bool {
		p, ok := all[pid]
		switch {
		case !ok || except[pid] || depth > len(all):
			return false
		case p.Parent == root:
			return true
		case in[pid] != 0:
			return in[pid] == 1
		}
		yes := under(p.Parent, depth+1)
		in[pid] = 2
		if yes {
			in[pid] = 1
		}
		return yes
	}
	var found []Process
	for pid, p := range all {
		if pid != root && !p.Gone() && under(pid, 0) {
			found = append(found, p)
		}
	}
	return found
}
