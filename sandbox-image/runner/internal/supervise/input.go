package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

// input returns a descriptor of standard input that needs no writer. Empty input is /dev/null and
// not an empty file or pipe: some tools then search the directory instead.
func input(body []byte) (int, error) {
	if len(body) == 0 {
		return unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	// A node that forbids executable memory files refuses a request for one.
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err != nil {
		fd, err = unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	for off := 0; off < len(body); {
		n, err := unix.Pwrite(fd, body[off:], int64(off))
		if err != nil {
			unix.Close(fd)
			return -1, os.NewSyscallError("pwrite", err)
		}
		off += n
	}
	return fd, nil
}
