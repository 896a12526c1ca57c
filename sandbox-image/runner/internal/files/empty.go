package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// deepest is how many folders below the first are held open at once; a deeper one is moved to the top before it is emptied, so that
// neither descriptors nor the length of a path bound the depth of a tree.
const deepest = 32

type emptier struct {
	top, moved, removed int
	// kept are paths that stay where something special is there: true; false: folders on the way to them, which stay.
	kept   map[string]bool
	device uint64
}

// Empty removes everything inside dir and keeps dir itself. Folders that their owner has closed are
// opened first; dir is then open to all, as /tmp is. Symbolic links are removed, never followed. Entries that cannot be removed (another
// owner, or a mount) are left and named in the error; a missing dir is empty.
func Empty(dir string) error {
	top, wasClosed, err := openFolder(unix.AT_FDCWD, dir, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(top)
	e := emptier{top: top}
	if err := e.all(dir); err != nil || !wasClosed {
		return err
	}
	if err := unix.Fchmod(top, 0o1777); err != nil {
		return &os.PathError{Op: "chmod", Path: dir, Err: err}
	}
	return nil
}

// Clear removes everything below root, however large, but what the paths "path NUL" on in name and no snapshot can bring back: fifos,
// sockets, devices, mounts, what is another user's, and the folders on the way there. It prints how many names it removed, and returns
// the exit status; failures are lines on errs. Links are never followed.
func Clear(root string, in io.Reader, out, errs io.Writer) int {
	paths, err := io.ReadAll(in)
	var st unix.Stat_t
	top := -1
	if err == nil {
		top, err = unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		defer unix.Close(top)
		err = unix.Fstat(top, &st)
	}
	e := emptier{top: top, kept: map[string]bool{}, device: uint64(st.Dev)}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(paths), "\x00"), "\x00") {
		for at := path; strings.Contains(at, "/"); {
			at = at[:strings.LastIndexByte(at, '/')]
			e.kept[root+"/"+at] = e.kept[root+"/"+at]
		}
		e.kept[root+"/"+path] = true
	}
	if err == nil {
		err = e.all(root)
	}
	if err != nil {
		fmt.Fprintf(errs, "runner clear: %v\n", err)
		return 1
	}
	fmt.Fprint(out, e.removed)
	return 0
}

// openFolder opens a folder for its entries. One that its owner has closed is opened to the owner first, by a descriptor, so that it is
// the folder that was looked at.
func openFolder(parent int, name string, flags int) (fd int, wasClosed bool, err error) {
	const folder = unix.O_DIRECTORY | unix.O_CLOEXEC
	at, err := unix.Openat(parent, name, unix.O_PATH|folder|flags, 0)
	if err != nil {
		return -1, false, err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return -1, false, err
	}
	if wasClosed = st.Mode&0o700 != 0o700; wasClosed {
		// One of another owner may be open to us all the same.
		if err := unix.Chmod("/proc/self/fd/"+strconv.Itoa(at), 0o700); err != nil && !errors.Is(err, unix.EPERM) {
			return -1, true, err
		}
	}
	fd, err = unix.Openat(at, ".", unix.O_RDONLY|folder, 0)
	return fd, wasClosed, err
}

func (e *emptier) all(dir string) error {
	for {
		before := e.moved
		err := e.empty(e.top, dir, 0)
		if e.moved == before {
			return err
		}
		if _, err := unix.Seek(e.top, 0, unix.SEEK_SET); err != nil {
			return &os.PathError{Op: "seek", Path: dir, Err: err}
		}
	}
}

func (e *emptier) empty(fd int, path string, depth int) error {
	names, err := namesIn(fd)
	if err != nil {
		return &os.PathError{Op: "readdir", Path: path, Err: err}
	}
	var all error
	for _, name := range names {
		all = errors.Join(all, e.remove(fd, name, path+"/"+name, depth))
	}
	return all
}

func (e *emptier) remove(parent int, name, path string, depth int) error {
	stays, named := e.kept[path]
	if stays && e.isSpecial(parent, name) {
		return nil
	}
	err := unix.Unlinkat(parent, name, 0)
	if err == nil {
		e.removed++
		return nil
	}
	fd, _, openErr := openFolder(parent, name, unix.O_NOFOLLOW)
	if openErr != nil {
		return &os.PathError{Op: "unlink", Path: path, Err: err}
	}
	if depth == deepest {
		unix.Close(fd)
		return e.move(parent, name, path)
	}
	err = e.empty(fd, path, depth+1)
	unix.Close(fd)
	if err != nil || (named && !stays) {
		return err
	}
	if err := unix.Unlinkat(parent, name, unix.AT_REMOVEDIR); err != nil {
		return &os.PathError{Op: "rmdir", Path: path, Err: err}
	}
	e.removed++
	return nil
}

// isSpecial reports whether a name is none that a snapshot holds: no file, folder or link of ours on the file system of the top.
func (e *emptier) isSpecial(parent int, name string) bool {
	var st unix.Stat_t
	if err := unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return errors.Is(err, unix.EACCES)
	}
	kind := st.Mode & unix.S_IFMT
	ordinary := kind == unix.S_IFREG || kind == unix.S_IFDIR || kind == unix.S_IFLNK
	return !ordinary || uint64(st.Dev) != e.device || int(st.Uid) != os.Geteuid()
}

// move brings a folder to the top under a name that is free there.
func (e *emptier) move(parent int, name, path string) error {
	for {
		e.moved++
		err := unix.Renameat2(parent, name, e.top, "deep-"+strconv.Itoa(e.moved), unix.RENAME_NOREPLACE)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EEXIST) {
			e.moved--
			return &os.PathError{Op: "rename", Path: path, Err: err}
		}
	}
}

const queues = "/dev/mqueue"

var removers = map[string]func(id uintptr) unix.Errno{
	"shm": func(id uintptr) unix.Errno {
		_, _, e := unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
		return e
	},
	"sem": func(id uintptr) unix.Errno {
		_, _, e := unix.Syscall6(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID, 0, 0, 0)
		return e
	},
	"msg": func(id uintptr) unix.Errno {
		_, _, e := unix.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0)
		return e
	},
}

// EmptyIPC removes all System V memory, semaphores and queues and all POSIX queues of the IPC
// namespace that are this user's. They outlive their processes and, in a pod, their container:
// memory that no process holds and no kill frees. Objects of other users are left.
func EmptyIPC() error {
	err := Empty(queues)
	for kind, remove := range removers {
		text, e := os.ReadFile("/proc/sysvipc/" + kind)
		if errors.Is(e, os.ErrNotExist) {
			continue // a kernel without them
		}
		err = errors.Join(err, e)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 2 {
				continue
			}
			id, e := strconv.ParseUint(f[1], 10, 31)
			if e != nil {
				continue // the heading
			}
			if e := remove(uintptr(id)); e != 0 && e != unix.EIDRM && e != unix.EINVAL {
				err = errors.Join(err, fmt.Errorf("%s %d: %w", kind, id, e))
			}
		}
	}
	return err
}
