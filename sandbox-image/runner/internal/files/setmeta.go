package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"golang.org/x/sys/unix"
)

// failure is one line on standard error. PathBase64 is there when path is not UTF-8.
type failure struct {
	Path       string `json:"path"`
	PathBase64 []byte `json:"pathBase64,omitempty"`
	Error      string `json:"error"`
}

// maxDigits is the length of the longest time: 64 bits of seconds and nine digits behind them.
const maxDigits = 29

// setter keeps the last directory open: records of one folder come together.
type setter struct {
	root, dir int
	dirName   string
}

// SetMeta sets modification times under root from records "ns NUL path NUL", ns since 1970.
// No component may be a link: a tree under restore could lead out of itself. It returns the
// exit status; failures are JSON lines on errs.
func SetMeta(root string, in io.Reader, errs io.Writer) int {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		fmt.Fprintf(errs, "runner setmeta: %s: %v\n", root, err)
		return 1
	}
	defer unix.Close(fd)
	s := &setter{root: fd, dir: -1}
	defer s.closeDir()
	code, reports := 0, json.NewEncoder(errs)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		when, path, err := record(r)
		if errors.Is(err, io.EOF) {
			return code
		}
		if err != nil {
			_ = reports.Encode(failure{Error: err.Error()})
			return 1
		}
		if err := s.set(when, path); err != nil {
			code = 1
			f := failure{Path: path, Error: err.Error()}
			if strings.ToValidUTF8(path, "") != path {
				f.PathBase64 = []byte(path)
			}
			_ = reports.Encode(f)
		}
	}
}

func record(r *bufio.Reader) (when, path string, err error) {
	a, err := r.ReadBytes(0)
	if errors.Is(err, io.EOF) && len(a) == 0 {
		return "", "", io.EOF
	}
	if err != nil {
		return "", "", errors.New("the input ends inside a record")
	}
	b, err := r.ReadBytes(0)
	if err != nil {
		return "", "", errors.New("the input ends inside a record")
	}
	return string(bytes.TrimSuffix(a, []byte{0})), string(bytes.TrimSuffix(b, []byte{0})), nil
}

func (s *setter) set(when, path string) error {
	mtime, err := instant(when)
	if err != nil {
		return err
	}
	if path == "" || path[0] == '/' {
		return errors.New("the path is empty or absolute")
	}
	dir, name := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, name = path[:i], path[i+1:]
	}
	if name == ".." || name == "" || (name == "." && dir != "") {
		return errors.New("the path does not end in a name")
	}
	if err := s.enter(dir); err != nil {
		return err
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}
	return unix.UtimesNanoAt(s.dir, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// instant reads nanoseconds since 1970. File systems keep times far behind the year 2262, where
// nanoseconds leave 64 bits, and whoever may write a file may give it any of them.
func instant(ns string) (unix.Timespec, error) {
	bad := fmt.Errorf("%q is no time in nanoseconds", ns)
	n, ok := new(big.Int).SetString(ns, 10)
	if !ok || len(ns) > maxDigits {
		return unix.Timespec{}, bad
	}
	// Euclid's division: before 1970, too, the kernel counts nanoseconds upwards.
	sec, rest := new(big.Int).DivMod(n, big.NewInt(1e9), new(big.Int))
	if !sec.IsInt64() {
		return unix.Timespec{}, bad
	}
	return unix.Timespec{Sec: sec.Int64(), Nsec: rest.Int64()}, nil
}

// enter opens the directory component by component.
func (s *setter) enter(dir string) error {
	if s.dir >= 0 && s.dirName == dir {
		return nil
	}
	s.closeDir()
	at, err := unix.Openat(s.root, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(dir, "/") {
		if dir == "" {
			break
		}
		if part == "" || part == "." || part == ".." {
			unix.Close(at)
			return errors.New("the path holds an empty component, . or ..")
		}
		next, err := unix.Openat(at, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(at)
		if err != nil {
			return err
		}
		at = next
	}
	s.dir, s.dirName = at, dir
	return nil
}

func (s *setter) closeDir() {
	if s.dir >= 0 {
		unix.Close(s.dir)
		s.dir = -1
	}
}
