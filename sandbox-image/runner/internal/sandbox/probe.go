package sandbox

import (
	"os"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"golang.org/x/sys/unix"
)

// store is where the keeper keeps snapshots, in its own container only.
const store = "/var/lib/agentfleet"

type attempt struct {
	path  string
	flags int
}

// attempts are what a command must not do: read the runner's own program, and write to a
// world-writable file outside the writable paths.
var attempts = []attempt{
	{Private + "/bin/runner", unix.O_RDONLY},
	{"/proc/thread-self/comm", unix.O_WRONLY},
}

// Before records what an unrestricted thread can do, so that a later refusal is known to come from
// our restrictions and not, for example, from a read-only file system.
type Before struct {
	storeAbsent bool
	possible    []attempt
}

// Look runs outside the restrictions.
func Look() Before {
	var b Before
	_, err := os.Lstat(store)
	b.storeAbsent = os.IsNotExist(err)
	for _, a := range attempts {
		if a.try() == nil {
			b.possible = append(b.possible, a)
		}
	}
	return b
}

// Try runs on a restricted thread.
func (b Before) Try() link.Probe {
	p := link.Probe{StoreAbsent: b.storeAbsent, SeccompDenies: seccompDenies(), Powerless: proc.Powerless()}
	for _, a := range b.possible {
		if a.try() != unix.EACCES {
			return p
		}
	}
	if len(b.possible) == 0 {
		p.Error = "nothing outside the rules could be opened before: Landlock could not be tried"
		return p
	}
	p.LandlockDenies = attempt{"/dev/null", unix.O_RDWR}.try() == nil
	return p
}

func (a attempt) try() error {
	fd, err := unix.Open(a.path, a.flags|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// seccompDenies tries calls that the kernel would answer otherwise: a bad descriptor is EBADF,
// a family without a driver could be EAFNOSUPPORT by itself, so it is only one of six.
func seccompDenies() bool {
	_, _, sti := unix.Syscall(unix.SYS_IOCTL, ^uintptr(0), unix.TIOCSTI, 0)
	_, _, getfd := unix.Syscall(unix.SYS_PIDFD_GETFD, ^uintptr(0), 0, 0)
	_, _, ns := unix.Syscall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0)
	_, packet := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	_, six := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0)
	_, echo := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)
	return sti == unix.EPERM && getfd == unix.EPERM && ns == unix.EPERM && packet == unix.EAFNOSUPPORT &&
		six == unix.EAFNOSUPPORT && echo == unix.EPROTONOSUPPORT
}
