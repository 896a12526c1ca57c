// Package sandbox holds the restrictions of a command: Landlock, seccomp, resource limits. All act
// on the calling thread and its children, never on the whole runner.
//
// It may import link and proc; supervise imports it.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Private is the folder of the runner and of the link; no command may read it.
const Private = "/.agentfleet"

const (
	fileRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	dirRead  = fileRead | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// Device nodes are left out on purpose: nothing in a sandbox makes one.
	dirWrite = dirRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	device = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	forFiles = fileRead | device
)

var devices = []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx"}

// leastABI is the first version of Landlock that is used: the one before it refuses to rename and
// link from one folder to another, whatever the rules are, and with that git, npm and most builds.
const leastABI = 2

// ABI returns the version of Landlock that is in use, 0 for none.
func ABI() int {
	v, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return usable(int(v))
}

func usable(offered int) int {
	if offered < leastABI {
		return 0
	}
	return offered
}

// handled are the file rights that this ABI can deny.
func handled(abi int) uint64 {
	h := uint64(unix.LANDLOCK_ACCESS_FS_REFER)<<1 - 1
	if abi >= 3 {
		h |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		h |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return h
}

// ruleset is an open Landlock ruleset that is not in force yet.
type ruleset struct {
	fd      int
	handled uint64
}

func newRuleset(abi int) (*ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(abi)}
	size := uintptr(8)
	if abi >= 6 {
		// Commands cannot signal their supervisor, PID 1 or each other.
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = 24
	}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if e != 0 {
		return nil, os.NewSyscallError("landlock_create_ruleset", e)
	}
	return &ruleset{int(fd), attr.Handled_access_fs}, nil
}

// closedPorts denies all TCP, in both directions, where this ABI can: a second layer behind the
// filter of a command without a network. Rules allow single ports and cannot say "all but one", so
// there is no rule for a command with loopback, whose egress the NetworkPolicy limits.
func closedPorts(abi int) (*ruleset, error) {
	if abi < 4 {
		return nil, nil
	}
	attr := unix.LandlockRulesetAttr{
		Handled_access_net: unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP,
	}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 16, 0)
	if e != 0 {
		return nil, os.NewSyscallError("landlock_create_ruleset", e)
	}
	return &ruleset{fd: int(fd)}, nil
}

// allow grants rights at path and below. Absent paths are skipped.
func (r *ruleset) allow(path string, rights uint64, flags int) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFLNK:
		return nil
	default:
		rights &= forFiles
	}
	if rights&unix.LANDLOCK_ACCESS_FS_WRITE_FILE != 0 && opensPrivate(fd) {
		return fmt.Errorf("%s would open %s to the command", path, Private)
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if e != 0 {
		return fmt.Errorf("landlock_add_rule %s: %w", path, e)
	}
	return nil
}

// opensPrivate reports whether a rule at fd would cover the runner's folder: a writable path may be
// a symbolic link of the user's image that points to / or into the folder.
func opensPrivate(fd int) bool {
	p, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	return err != nil || p == "/" || p == Private || strings.HasPrefix(p, Private+"/")
}

// readTop allows reading below every top-level entry but the runner's, and below every entry of
// /dev but the terminals; names alone may be listed everywhere, for exploration. Reading files by a
// rule on / itself would open the runner's folder too.
func (r *ruleset) readTop() error {
	if err := r.allow("/", unix.LANDLOCK_ACCESS_FS_READ_DIR, 0); err != nil {
		return err
	}
	return errors.Join(r.readBelow("/", Private, "/dev"), r.readBelow("/dev", terminals))
}

// readBelow allows reading all entries of a folder and below them, without some. Links are skipped:
// where they lead is under an entry that has its own rule, and one that leads to / must not become
// a rule.
func (r *ruleset) readBelow(dir string, without ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		if slices.Contains(without, p) {
			continue
		}
		if err := r.allow(p, dirRead, unix.O_NOFOLLOW); err != nil {
			return err
		}
	}
	return nil
}

// base makes the rules that all commands share. nil without error: the kernel has no Landlock.
func base() (*ruleset, error) {
	abi := ABI()
	if abi == 0 {
		return nil, nil
	}
	r, err := newRuleset(abi)
	if err != nil {
		return nil, err
	}
	err = r.readTop()
	for _, d := range devices {
		err = errors.Join(err, r.allow("/dev/"+d, device, 0))
	}
	return r, err
}

const terminals = "/dev/pts"

// terminal gives a command access to its terminals. A writing command may create terminals, whose
// names are unknown in advance, so it gets the folder; no other writer runs beside it. A reading
// command gets only its own, and cannot take the input or forge the output of the writer.
func (r *ruleset) terminal(own string, readOnly bool) error {
	switch {
	case r == nil:
		return nil
	case !readOnly:
		return r.allow(terminals, dirRead|device, 0)
	case own != "":
		return r.allow(own, device, 0)
	}
	return nil
}

func (r *ruleset) write(paths []string) (err error) {
	if r == nil {
		return nil
	}
	for _, w := range paths {
		err = errors.Join(err, r.allow(w, dirWrite, 0))
	}
	return err
}

// enforce puts the ruleset in force on the calling thread; no_new_privs must be set.
func (r *ruleset) enforce() error {
	if r == nil {
		return nil
	}
	defer unix.Close(r.fd)
	if _, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); e != 0 {
		return os.NewSyscallError("landlock_restrict_self", e)
	}
	return nil
}
