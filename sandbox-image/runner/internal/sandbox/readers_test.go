package sandbox

import (
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

func TestReadersFilterDecides(t *testing.T) {
	denied := unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	for arch, m := range machines {
		known := headers(t, arch)
		vm, err := bpf.NewVM(readerFilter(m))
		if err != nil {
			t.Fatal(err)
		}
		check := func(name string, want uint32, call []byte) {
			t.Helper()
			if got, err := vm.Run(call); err != nil || uint32(got) != want {
				t.Errorf("%s on %s: %#x, want %#x (%v)", name, arch, got, want, err)
			}
		}
		for name, n := range metadata {
			nr, there := known[name]
			if n[m.column] != nr {
				t.Errorf("%s on %s: %d, want %d", name, arch, n[m.column], nr)
			}
			if there {
				check(name, denied, data(m.audit, nr))
			}
		}
		for name, c := range bySecondArgument {
			if c.numbers[m.column] != known[name] {
				t.Errorf("%s on %s: %d, want %d", name, arch, c.numbers[m.column], known[name])
			}
		}
		for _, name := range []string{"read", "openat", "newfstatat", "fstatat", "getxattr", "flock"} {
			if nr, there := known[name]; there {
				check(name, unix.SECCOMP_RET_ALLOW, data(m.audit, nr))
			}
		}
		check("flags of files", denied, data(m.audit, known["ioctl"], 3, unix.FS_IOC_SETFLAGS))
		check("size of a terminal", unix.SECCOMP_RET_ALLOW, data(m.audit, known["ioctl"], 0, unix.TIOCGWINSZ))
		check("a lease", denied, data(m.audit, known["fcntl"], 3, unix.F_SETLEASE, unix.F_RDLCK))
		check("close on exec", unix.SECCOMP_RET_ALLOW, data(m.audit, known["fcntl"], 3, unix.F_SETFD, 1))
	}
}
