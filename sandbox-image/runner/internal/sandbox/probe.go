package sandbox

import (
	"os"

	"agentfleet.dev/runner/internal/link"
	"golang.org/x/sys/unix"
)

// store is where the keeper keeps snapshots, in its own container only.
const store = "/var/lib/agentfleet"

// Before notes what an unrestricted thread can do, so that a refusal afterwards is known to be
// ours and not, say, a read-only file system's.
type Before struct {
	storeAbsent bool
	readable    []string
}

// Look runs outside the restrictions.
func Look() Before {
	var b Before
	_, err := os.Lstat(store)
	b.storeAbsent = os.IsNotExist(err)
	for _, p := range []string{"/", Private, Private + "/link", Private + "/bin"} {
		if opens(p) == nil {
			b.readable = append(b.readable, p)
		}
	}
	return b
}

// Try runs on a restricted thread.
func (b Before) Try() link.Probe {
	p := link.Probe{StoreAbsent: b.storeAbsent, SeccompDenies: seccompDenies()}
	for _, path := range b.readable {
		if opens(path) != unix.EACCES {
			return p
		}
	}
	if len(b.readable) == 0 {
		p.Error = "nothing outside the rules was readable before: Landlock could not be tried"
		return p
	}
	p.LandlockDenies = opens("/dev/null") == nil
	return p
}

func opens(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// seccompDenies tries calls that the kernel would answer otherwise: a bad descriptor is EBADF,
// a family without a driver could be EAFNOSUPPORT by itself, so it is only one of four.
func seccompDenies() bool {
	_, _, sti := unix.Syscall(unix.SYS_IOCTL, ^uintptr(0), unix.TIOCSTI, 0)
	_, _, getfd := unix.Syscall(unix.SYS_PIDFD_GETFD, ^uintptr(0), 0, 0)
	_, _, ns := unix.Syscall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0)
	_, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	return sti == unix.EPERM && getfd == unix.EPERM && ns == unix.EPERM && err == unix.EAFNOSUPPORT
}
