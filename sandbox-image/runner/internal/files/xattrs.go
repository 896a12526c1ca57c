package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	userSpace = "user."
	// maxList and maxValue are the kernel's limits.
	maxList  = 64 << 10
	maxValue = 64 << 10
	// many is the note of a path whose attributes cannot be listed, nor removed without their names.
	many = "many"
)

// attributed is a line of JSON: the attributes of one path, bytes in base64.
type attributed struct {
	Path       []byte      `json:"path"`
	Note       string      `json:"note"`
	Attributes []attribute `json:"attributes"`
}

type attribute struct {
	Name  []byte `json:"name"`
	Value []byte `json:"value"`
}

// reader holds the buffers of the two calls.
type reader struct {
	*places
	list, value []byte
}

// Xattrs reads paths "path NUL" under root and reports each that has attributes of the user's namespace, sorted by name, as a line of
// JSON. The note is empty, or names attributes that no snapshot keeps ("acl", "capability"), or
// is "closed": the attributes exist but may not be read, or "many": the kernel does not list them.
// A path that is gone, or is a link, is not reported. Links are never followed.
func Xattrs(root string, in io.Reader, out, errs io.Writer) int {
	r := reader{list: make([]byte, maxList), value: make([]byte, maxValue)}
	w := bufio.NewWriterSize(out, 64<<10)
	lines := json.NewEncoder(w)
	paths := bufio.NewReaderSize(in, 64<<10)
	code := each("xattrs", root, errs, func(at *places) (string, error, error) {
		r.places = at
		text, err := paths.ReadString(0)
		if errors.Is(err, io.EOF) && text == "" {
			return "", nil, io.EOF
		}
		path := strings.TrimSuffix(text, "\x00")
		if err == nil {
			err = r.tell(lines, path)
		}
		return path, err, nil
	})
	if err := w.Flush(); err != nil {
		return 1
	}
	return code
}

func (r *reader) tell(lines *json.Encoder, path string) error {
	dir, name, err := r.find(path)
	if errors.Is(err, unix.EACCES) {
		return lines.Encode(attributed{Path: []byte(path), Note: "closed"})
	}
	if err != nil {
		return err
	}
	note, attributes, err := r.read(dir, name)
	if err != nil || (note == "" && len(attributes) == 0) {
		return err
	}
	return lines.Encode(attributed{[]byte(path), note, attributes})
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
			found = append(found, attribute{[]byte(key), bytes.Clone(r.value[:size])})
		case strings.HasPrefix(key, "system.posix_acl_"):
			note = "acl"
		case key == "security.capability" && note == "":
			note = "capability"
		}
	}
	slices.SortFunc(found, func(a, b attribute) int { return bytes.Compare(a.Name, b.Name) })
	return note, found, nil
}

// SetXattrs makes the attributes of the user's namespace equal to lines of JSON on in, each without a note. A file or folder whose mode
// forbids writing is opened temporarily. It returns the exit status; failures are lines on errs, and a path with more
// attributes than the kernel lists is one: only a new file gets rid of them.
func SetXattrs(root string, in io.Reader, errs io.Writer) int {
	r := reader{list: make([]byte, maxList), value: make([]byte, maxValue)}
	lines := json.NewDecoder(in)
	return each("setxattrs", root, errs, func(at *places) (string, error, error) {
		r.places = at
		var record attributed
		if err := lines.Decode(&record); err != nil {
			return "", nil, err
		}
		return string(record.Path), r.set(string(record.Path), record.Attributes), nil
	})
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
		if !bytes.HasPrefix(a.Name, []byte(userSpace)) {
			return fmt.Errorf("%q is not in the user's namespace", a.Name)
		}
		missing[string(a.Name)] = string(a.Value)
	}
	for _, a := range present {
		name := string(a.Name)
		if value, kept := missing[name]; kept && value == string(a.Value) {
			delete(missing, name)
		} else if err := unix.Lremovexattr(place, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for key, value := range missing {
		if err := unix.Lsetxattr(place, key, []byte(value), 0); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}
