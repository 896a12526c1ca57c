package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"

	"golang.org/x/sys/unix"
)

// maxDigits is the length of the longest time: 64 bits of seconds and nine digits after them.
const maxDigits = 29

// SetMeta sets modification times under root from records "ns NUL path NUL", ns since 1970.
// No component may be a link: a tree under restore could lead out of itself. It returns the
// exit status; failures are lines on errs.
func SetMeta(root string, in io.Reader, errs io.Writer) int {
	r := bufio.NewReaderSize(in, 64<<10)
	return each("setmeta", root, errs, func(at *places) (string, error, error) {
		when, path, err := record(r)
		if err != nil {
			return "", nil, err
		}
		return path, at.setTime(when, path), nil
	})
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

func (p *places) setTime(when, path string) error {
	mtime, err := instant(when)
	if err != nil {
		return err
	}
	dir, name, err := p.find(path)
	if err != nil {
		return err
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}
	return unix.UtimesNanoAt(dir, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// instant reads nanoseconds since 1970. File systems keep times far after the year 2262, where
// nanoseconds overflow 64 bits, and any writer of a file may set them.
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
