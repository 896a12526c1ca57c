package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	userSpace = "user."
	// maxList and maxValue are the kernel's limits.
	maxList  = 64 << 10
	maxValue = 64 << 10
	// maxAttributes of one path that a record may set; far more than any file system keeps.
	maxAttributes = 1 << 16
	// many is the note of a path whose attributes cannot be listed, nor removed without their names.
	many = "many"
)

type attribute struct{ name, value string }

// reader holds the buffers of the two calls.
type reader struct {
	*places
	list, value []byte
}

// Xattrs reads paths "path NUL" under root and reports each that has attributes: "path NUL note NUL
// count NUL", then for each attribute of the user's namespace, sorted by name, "name NUL length NUL
// bytes". The note is empty, or names attributes that no snapshot keeps ("acl", "capability"), or
// is "closed": the attributes exist but may not be read, or "many": the kernel does not list them.
// A path that is gone, or is a link, is not reported. Links are never followed.
func Xattrs(root string, in io.Reader, out, errs io.Writer) int {
	r := reader{list: make([]byte, maxList), value: make([]byte, maxValue)}
	w := bufio.NewWriterSize(out, 64<<10)
	paths := bufio.NewReaderSize(in, 64<<10)
	code := each("xattrs", root, errs, func(at *places) (string, error, error) {
		r.places = at
		text, err := paths.ReadString(0)
		if errors.Is(err, io.EOF) && text == "" {
			return "", nil, io.EOF
		}
		path := strings.TrimSuffix(text, "\x00")
		if err == nil {
			err = r.tell(w, path)
		}
		return path, err, nil
	})
	if err := w.Flush(); err != nil {
		return 1
	}
	return code
}

func (r *reader) tell(w *bufio.Writer, path string) error {
	dir, name, err := r.find(path)
	if errors.Is(err, unix.EACCES) {
		fmt.Fprintf(w, "%s\x00closed\x000\x00", path)
		return nil
	}
	if err != nil {
		return err
	}
	note, attributes, err := r.read(dir, name)
	if err != nil || (note == "" && len(attributes) == 0) {
		return err
	}
	fmt.Fprintf(w, "%s\x00%s\x00%d\x00", path, note, len(attributes))
	for _, a := range attributes {
		fmt.Fprintf(w, "%s\x00%d\x00%s", a.name, len(a.value), a.value)
	}
	return nil
}

// read lists the attributes of one name; none when it has none, is gone, or cannot have any.
func (r *reader) read(dir int, name string) (note string, found []attribute, err error) {
	path := fmt.Sprintf("/proc/self/fd/%d/%s", dir, name)
	n, err := unix.Llistxattr(path, r.list)
	switch {
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOENT):
		return "", nil, nil
	case errors.Is(err, unix.EACCES):
		return "closed", nil, nil
	case errors.Is(err, unix.E2BIG): // more names than maxList: XFS, btrfs and tmpfs keep them
		return many, nil, nil
	case err != nil:
		return "", nil, err
	}
	for entry := range bytes.SplitSeq(r.list[:n], []byte{0}) {
		switch key := string(entry); {
		case strings.HasPrefix(key, userSpace):
			size, err := unix.Lgetxattr(path, key, r.value)
			if errors.Is(err, unix.EACCES) {
				return "closed", nil, nil
			}
			if errors.Is(err, unix.ENODATA) {
				continue
			}
			if err != nil {
				return "", nil, fmt.Errorf("%s: %w", key, err)
			}
			found = append(found, attribute{key, string(r.value[:size])})
		case strings.HasPrefix(key, "system.posix_acl_"):
			note = "acl"
		case key == "security.capability" && note == "":
			note = "capability"
		}
	}
	sort.Slice(found, func(a, b int) bool { return found[a].name < found[b].name })
	return note, found, nil
}

// SetXattrs makes the attributes of the user's namespace equal to records on in: "path NUL count
// NUL", then for each "name NUL length NUL bytes". A file or folder whose mode forbids writing is
// opened temporarily. It returns the exit status; failures are lines on errs, and a path with more
// attributes than the kernel lists is one: only a new file gets rid of them.
func SetXattrs(root string, in io.Reader, errs io.Writer) int {
	r := reader{list: make([]byte, maxList), value: make([]byte, maxValue)}
	records := bufio.NewReaderSize(in, 64<<10)
	return each("setxattrs", root, errs, func(at *places) (string, error, error) {
		r.places = at
		path, wanted, err := attributes(records)
		if err != nil {
			return path, nil, err
		}
		return path, r.set(path, wanted), nil
	})
}

// attributes reads one record; io.EOF only at its beginning.
func attributes(r *bufio.Reader) (path string, wanted []attribute, err error) {
	broken := errors.New("the input ends inside a record, or holds no number")
	path, err = r.ReadString(0)
	if errors.Is(err, io.EOF) && path == "" {
		return "", nil, io.EOF
	}
	path = strings.TrimSuffix(path, "\x00")
	count, err := number(r, maxAttributes)
	if err != nil {
		return path, nil, broken
	}
	for range count {
		name, err := r.ReadString(0)
		if err != nil {
			return path, nil, broken
		}
		size, err := number(r, maxValue)
		if err != nil {
			return path, nil, broken
		}
		value := make([]byte, size)
		if _, err := io.ReadFull(r, value); err != nil {
			return path, nil, broken
		}
		wanted = append(wanted, attribute{strings.TrimSuffix(name, "\x00"), string(value)})
	}
	return path, wanted, nil
}

func number(r *bufio.Reader, limit int) (int, error) {
	text, err := r.ReadString(0)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, "\x00"))
	if err != nil || n < 0 || n > limit {
		return 0, errors.New("no number, or one that is too big")
	}
	return n, nil
}

// set changes only differing attributes. Those in the way go first: all attributes of a path may
// have to share one block.
func (r *reader) set(path string, wanted []attribute) error {
	dir, name, err := r.find(path)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return errors.New("neither a file nor a folder")
	}
	place := fmt.Sprintf("/proc/self/fd/%d/%s", dir, name)
	if mode := st.Mode & 0o7777; mode&0o600 != 0o600 {
		if err := unix.Chmod(place, mode|0o600); err != nil {
			return err
		}
		defer func() { _ = unix.Chmod(place, mode) }()
	}
	note, present, err := r.read(dir, name)
	if err != nil {
		return err
	}
	if note == many {
		return unix.E2BIG
	}
	missing := map[string]string{}
	for _, a := range wanted {
		if !strings.HasPrefix(a.name, userSpace) {
			return fmt.Errorf("%q is not in the user's namespace", a.name)
		}
		missing[a.name] = a.value
	}
	for _, a := range present {
		if value, kept := missing[a.name]; kept && value == a.value {
			delete(missing, a.name)
		} else if err := unix.Lremovexattr(place, a.name); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	for key, value := range missing {
		if err := unix.Lsetxattr(place, key, []byte(value), 0); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}
