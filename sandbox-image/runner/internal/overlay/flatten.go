package overlay

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Flatten writes to each root's Upper one layer equal to all of its Lower together. Files are
// linked, not copied: layers are never written again. Nothing may change the layers meanwhile.
func Flatten(roots []Root) error {
	for _, r := range roots {
		if err := r.flatten(); err != nil {
			return fmt.Errorf("flatten %s: %w", r.Target, err)
		}
	}
	return nil
}

func (r Root) flatten() error {
	if len(r.Lower) < 2 {
		return errors.New("there is but one layer")
	}
	merged, err := r.merged()
	if err != nil {
		return err
	}
	defer unix.Close(merged)
	return r.copyDirectory(fmt.Sprintf("/proc/self/fd/%d", merged), "")
}

// merged mounts the layers privately.
func (r Root) merged() (int, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for _, dir := range r.Lower {
		if err := unix.FsconfigSetString(fs, "lowerdir+", dir); err != nil {
			return -1, err
		}
	}
	if err := errors.Join(unix.FsconfigSetFlag(fs, "userxattr"), unix.FsconfigCreate(fs)); err != nil {
		return -1, fmt.Errorf("%w%s", err, complaint(fs))
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// copyDirectory fills the directory at path of the new layer. Its own metadata are set last:
// filling it changes its time.
func (r Root) copyDirectory(merged, path string) error {
	entries, err := os.ReadDir(merged + path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		child := path + "/" + e.Name()
		if !e.IsDir() {
			if err := r.link(child); err != nil {
				return err
			}
			continue
		}
		if err := unix.Mkdir(r.Upper+child, 0o700); err != nil {
			return err
		}
		if err := r.copyDirectory(merged, child); err != nil {
			return err
		}
	}
	return copyMeta(merged+path, r.Upper+path)
}

// link takes a file from the topmost layer that has it.
func (r Root) link(path string) error {
	for _, layer := range r.Lower {
		var st unix.Stat_t
		err := unix.Lstat(layer+path, &st)
		if err == nil {
			return os.NewSyscallError("link", unix.Link(layer+path, r.Upper+path))
		}
		if err != unix.ENOENT && err != unix.ENOTDIR {
			return err
		}
	}
	return fmt.Errorf("no layer has %q", path)
}

func copyMeta(from, to string) error {
	var st unix.Stat_t
	if err := unix.Stat(from, &st); err != nil {
		return err
	}
	if err := copyXattrs(from, to); err != nil {
		return err
	}
	if err := unix.Chmod(to, st.Mode&0o7777); err != nil {
		return err
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	return unix.UtimesNanoAt(unix.AT_FDCWD, to, times, 0)
}

func copyXattrs(from, to string) error {
	names := make([]byte, 64<<10)
	n, err := unix.Listxattr(from, names)
	if err == unix.ENOTSUP {
		return nil
	}
	if err != nil {
		return err
	}
	value := make([]byte, 64<<10)
	for _, name := range bytes.Split(names[:n], []byte{0}) {
		if !strings.HasPrefix(string(name), "user.") {
			continue
		}
		size, err := unix.Getxattr(from, string(name), value)
		if err != nil {
			return err
		}
		if err := unix.Setxattr(to, string(name), value[:size], 0); err != nil {
			return err
		}
	}
	return nil
}
