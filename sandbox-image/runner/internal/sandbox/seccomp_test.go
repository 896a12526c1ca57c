package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// data is struct seccomp_data. The machine of package bpf reads big-endian, the kernel's reads
// the CPU's order, so the words are written big-endian with the halves in the kernel's places.
func data(arch, nr uint32, args ...uint64) []byte {
	b := make([]byte, 64)
	binary.BigEndian.PutUint32(b, nr)
	binary.BigEndian.PutUint32(b[4:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(b[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(b[20+8*i:], uint32(a>>32))
	}
	return b
}

func TestFilterDecides(t *testing.T) {
	deny := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	const ok, self = uint32(unix.SECCOMP_RET_ALLOW), uint32(auditArch)
	for _, c := range []struct {
		name, network string
		data          []byte
		want          uint32
	}{
		{"read", "Loopback", data(self, unix.SYS_READ), ok},
		{"another architecture", "Loopback", data(unix.AUDIT_ARCH_I386, 3), unix.SECCOMP_RET_KILL_PROCESS},
		{"x32", "Loopback", data(self, 0x40000000), deny(unix.EPERM)},
		{"fork", "Loopback", data(self, unix.SYS_CLONE, uint64(unix.SIGCHLD)), ok},
		{"thread", "Loopback", data(self, unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_THREAD|unix.CLONE_SIGHAND), ok},
		{"user namespace", "Loopback", data(self, unix.SYS_CLONE, unix.CLONE_NEWUSER), deny(unix.EPERM)},
		{"clone3", "Loopback", data(self, unix.SYS_CLONE3), deny(unix.ENOSYS)},
		{"own limits", "Loopback", data(self, unix.SYS_PRLIMIT64, 0, 7, 0x7fff00000000), ok},
		{"reading limits", "Loopback", data(self, unix.SYS_PRLIMIT64, 1, 7, 0), ok},
		{"others' limits", "Loopback", data(self, unix.SYS_PRLIMIT64, 1, 7, 0x7fff00000000), deny(unix.EPERM)},
		{"others' limits, low pointer", "Loopback", data(self, unix.SYS_PRLIMIT64, 1, 7, 4096), deny(unix.EPERM)},
		{"tcp", "Loopback", data(self, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC), ok},
		{"tcp by name", "Loopback", data(self, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP), ok},
		{"udp", "Loopback", data(self, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, unix.IPPROTO_UDP), ok},
		{"echo", "Loopback", data(self, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP), deny(unix.EPROTONOSUPPORT)},
		{"tcp with udp's number", "Loopback", data(self, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_UDP), deny(unix.EPROTONOSUPPORT)},
		{"raw", "Loopback", data(self, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP), deny(unix.ESOCKTNOSUPPORT)},
		{"packet by its old name", "Loopback", data(self, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_PACKET), deny(unix.ESOCKTNOSUPPORT)},
		{"tcp6", "Loopback", data(self, unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM), deny(unix.EAFNOSUPPORT)},
		{"tcp under None", "None", data(self, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM), deny(unix.EPERM)},
		{"tcp6 under None", "None", data(self, unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM), deny(unix.EAFNOSUPPORT)},
		{"family with high bits", "None", data(self, unix.SYS_SOCKET, 1<<32|unix.AF_INET), deny(unix.EPERM)},
		{"unix under None", "None", data(self, unix.SYS_SOCKET, unix.AF_UNIX), ok},
		{"unix pair", "None", data(self, unix.SYS_SOCKETPAIR, unix.AF_UNIX), ok},
		{"packet", "Loopback", data(self, unix.SYS_SOCKET, unix.AF_PACKET), deny(unix.EAFNOSUPPORT)},
		{"vsock", "Loopback", data(self, unix.SYS_SOCKET, unix.AF_VSOCK), deny(unix.EAFNOSUPPORT)},
		{"route", "None", data(self, unix.SYS_SOCKET, unix.AF_NETLINK, 3, 0), ok},
		{"audit", "Loopback", data(self, unix.SYS_SOCKET, unix.AF_NETLINK, 3, 9), deny(unix.EAFNOSUPPORT)},
		{"terminal input", "Loopback", data(self, unix.SYS_IOCTL, 0, unix.TIOCSTI), deny(unix.EPERM)},
		{"terminal input, high bits", "Loopback", data(self, unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI), deny(unix.EPERM)},
		{"terminal size", "Loopback", data(self, unix.SYS_IOCTL, 0, unix.TIOCGWINSZ), ok},
	} {
		vm, err := bpf.NewVM(Filter(c.network))
		if err != nil {
			t.Fatal(err)
		}
		got, err := vm.Run(c.data)
		if err != nil || uint32(got) != c.want {
			t.Errorf("%s: %#x, want %#x (%v)", c.name, got, c.want, err)
		}
	}
	vm, _ := bpf.NewVM(Filter("Loopback"))
	for _, nr := range refused {
		if got, _ := vm.Run(data(self, nr)); uint32(got) != deny(unix.EPERM) {
			t.Errorf("call %d: %#x", nr, got)
		}
	}
}

func TestHandledRightsFitTheABI(t *testing.T) {
	// From the kernel's own header: 13 rights at first, then refer, truncate, ioctl on devices.
	for abi, want := range map[int]uint64{1: 1<<13 - 1, 2: 1<<14 - 1, 3: 1<<15 - 1, 4: 1<<15 - 1, 5: 1<<16 - 1, 7: 1<<16 - 1} {
		if got := handled(abi); got != want {
			t.Errorf("ABI %d: %#x, want %#x", abi, got, want)
		}
	}
}
