// Package overlay switches the roots of a sandbox between layers. The keeper's container mounts
// (`runner mount -- keeper`), and passes a copy of each mount to the runner of the user's container
// as a descriptor: the layers themselves are in a volume that only the keeper's container has.
package overlay

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Root is one tree: Lower from the top to the bottom, Upper takes the writes.
type Root struct {
	Target string   `json:"target"`
	Lower  []string `json:"lower"`
	Upper  string   `json:"upper"`
	Work   string   `json:"work"`
}

// options keep a layer readable without the ones above it: no redirects, no metadata apart from its
// data, no index beside the layers. volatile: the last sync of a layer would cost more than the
// switch; data of a killed process is in the page cache either way.
var options = [][2]string{{"index", "off"}, {"redirect_dir", "nofollow"}, {"metacopy", "off"}, {"xino", "off"}}

var flags = []string{"userxattr", "volatile"}

// create makes the file system of one root, not visible anywhere yet.
func (r Root) create() (int, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("fsopen overlay for %s: %w", r.Target, err)
	}
	defer unix.Close(fs)
	if err := r.configure(fs); err != nil {
		return -1, fmt.Errorf("overlay for %s: %w%s", r.Target, err, complaint(fs))
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return -1, fmt.Errorf("fsmount for %s: %w", r.Target, err)
	}
	return fd, nil
}

func (r Root) configure(fs int) error {
	set := func(key, value string) error {
		if err := unix.FsconfigSetString(fs, key, value); err != nil {
			return fmt.Errorf("%s=%s: %w", key, value, err)
		}
		return nil
	}
	for _, dir := range r.Lower {
		if err := set("lowerdir+", dir); err != nil {
			return err
		}
	}
	for _, o := range append([][2]string{{"upperdir", r.Upper}, {"workdir", r.Work}}, options...) {
		if err := set(o[0], o[1]); err != nil {
			return err
		}
	}
	for _, flag := range flags {
		if err := unix.FsconfigSetFlag(fs, flag); err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	return unix.FsconfigCreate(fs)
}

// complaint returns the kernel's message for the last error.
func complaint(fs int) string {
	buf := make([]byte, 512)
	if n, err := unix.Read(fs, buf); err == nil && n > 0 {
		return ": " + string(buf[:n])
	}
	return ""
}

// places are our mounts of one mount namespace.
type places map[string]bool

// put moves mounts to their targets, all at the same time: to take an old one away the kernel waits for all processors.
// An error leaves some as they were.
func (p places) put(fds []int, targets []string) error {
	errs, there := make([]error, len(fds)), make([]bool, len(fds))
	var all sync.WaitGroup
	for i, target := range targets {
		covered := p[target]
		all.Go(func() { there[i], errs[i] = put(fds[i], target, covered) })
	}
	all.Wait()
	for i, target := range targets {
		p[target] = there[i]
	}
	return errors.Join(errs...)
}

// put moves a mount to target and replaces the existing one. A process that still uses the old
// mount, for example as its working directory, keeps seeing it and can never write to it again: its
// layer is frozen. While a file of it is open for writing this fails, and nothing has changed. It
// returns whether target is mounted afterwards.
func put(fd int, target string, covered bool) (bool, error) {
	if covered {
		frozen := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(unix.AT_FDCWD, target, unix.AT_SYMLINK_NOFOLLOW, &frozen); err != nil {
			return true, fmt.Errorf("freeze %s: %w", target, err)
		}
		if err := unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return true, fmt.Errorf("unmount %s: %w", target, err)
		}
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return false, fmt.Errorf("mount on %s: %w", target, err)
	}
	return true, nil
}

// copyOf makes a second mount of the same file system, for another mount namespace.
func copyOf(fd int) (int, error) {
	c, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, fmt.Errorf("open_tree: %w", err)
	}
	return c, nil
}

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
