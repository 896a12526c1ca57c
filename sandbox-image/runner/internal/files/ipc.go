package files

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const queues = "/dev/mqueue"

// removers are the calls that remove one System V object by its id.
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
