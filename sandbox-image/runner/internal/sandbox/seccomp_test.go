package sandbox

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
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

// headers are the numbers of one architecture as x/sys has them from the kernel's headers.
func headers(t *testing.T, arch string) map[string]uint32 {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_"+arch+".go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint32{}
	for _, m := range regexp.MustCompile(`SYS_(\w+)\s+=\s+(\d+)`).FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.ParseUint(m[2], 10, 32)
		all[strings.ToLower(m[1])] = uint32(n)
	}
	return all
}

var machines = map[string]machine{"amd64": amd64, "arm64": arm64}

func TestNumbersAreTheKernels(t *testing.T) {
	if native != machines[runtime.GOARCH] {
		t.Errorf("built for %s with the filter of another architecture", runtime.GOARCH)
	}
	for arch, m := range machines {
		known := headers(t, arch)
		for _, table := range []map[string]numbers{refused, judged} {
			for name, n := range table {
				if want, found := known[name]; !found || n[m.column] != want {
					t.Errorf("%s on %s: %d, want %d", name, arch, n[m.column], want)
				}
			}
		}
	}
}

func TestFilterDecides(t *testing.T) {
	for arch, m := range machines {
		t.Run(arch, func(t *testing.T) { filterDecides(t, m, headers(t, arch)) })
	}
}

// filterDecides interprets the program, which is why it can be that of another architecture.
func filterDecides(t *testing.T, m machine, nr map[string]uint32) {
	deny := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	const ok = uint32(unix.SECCOMP_RET_ALLOW)
	self := m.audit
	for _, c := range []struct {
		name, network string
		data          []byte
		want          uint32
	}{
		{"read", "Loopback", data(self, nr["read"]), ok},
		{"another architecture", "Loopback", data(unix.AUDIT_ARCH_I386, 3), unix.SECCOMP_RET_KILL_PROCESS},
		{"arm of 32 bits", "Loopback", data(unix.AUDIT_ARCH_ARM, 3), unix.SECCOMP_RET_KILL_PROCESS},
		{"x32", "Loopback", data(self, 0x40000000), deny(unix.EPERM)},
		{"fork", "Loopback", data(self, nr["clone"], uint64(unix.SIGCHLD)), ok},
		{"thread", "Loopback", data(self, nr["clone"], unix.CLONE_VM|unix.CLONE_THREAD|unix.CLONE_SIGHAND), ok},
		{"user namespace", "Loopback", data(self, nr["clone"], unix.CLONE_NEWUSER), deny(unix.EPERM)},
		{"clone3", "Loopback", data(self, nr["clone3"]), deny(unix.ENOSYS)},
		{"own limits", "Loopback", data(self, nr["prlimit64"], 0, 7, 0x7fff00000000), ok},
		{"reading limits", "Loopback", data(self, nr["prlimit64"], 1, 7, 0), ok},
		{"others' limits", "Loopback", data(self, nr["prlimit64"], 1, 7, 0x7fff00000000), deny(unix.EPERM)},
		{"others' limits, low pointer", "Loopback", data(self, nr["prlimit64"], 1, 7, 4096), deny(unix.EPERM)},
		{"own nice value", "Loopback", data(self, nr["setpriority"], unix.PRIO_PROCESS, 0, 5), ok},
		{"own group's nice value", "Loopback", data(self, nr["setpriority"], unix.PRIO_PGRP, 0, 5), ok},
		{"another's nice value", "Loopback", data(self, nr["setpriority"], unix.PRIO_PROCESS, 1, 19), deny(unix.EPERM)},
		{"another group's nice value", "Loopback", data(self, nr["setpriority"], unix.PRIO_PGRP, 1, 19), deny(unix.EPERM)},
		{"nice value of the uid", "Loopback", data(self, nr["setpriority"], unix.PRIO_USER, 0, 19), deny(unix.EPERM)},
		{"own input and output", "Loopback", data(self, nr["ioprio_set"], 1, 0, 3<<13), ok},
		{"another's input and output", "Loopback", data(self, nr["ioprio_set"], 1, 1, 3<<13), deny(unix.EPERM)},
		{"input and output of the uid", "Loopback", data(self, nr["ioprio_set"], 3, 0, 3<<13), deny(unix.EPERM)},
		{"reading a nice value", "Loopback", data(self, nr["getpriority"], unix.PRIO_PROCESS, 1), ok},
		{"reading processors", "Loopback", data(self, nr["sched_getaffinity"], 1, 8, 4096), ok},
		{"tcp", "Loopback", data(self, nr["socket"], unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC), ok},
		{"tcp by name", "Loopback", data(self, nr["socket"], unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP), ok},
		{"udp", "Loopback", data(self, nr["socket"], unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, unix.IPPROTO_UDP), ok},
		{"echo", "Loopback", data(self, nr["socket"], unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP), deny(unix.EPROTONOSUPPORT)},
		{"tcp with udp's number", "Loopback", data(self, nr["socket"], unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_UDP), deny(unix.EPROTONOSUPPORT)},
		{"raw", "Loopback", data(self, nr["socket"], unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP), deny(unix.ESOCKTNOSUPPORT)},
		{"packet by its old name", "Loopback", data(self, nr["socket"], unix.AF_INET, unix.SOCK_PACKET), deny(unix.ESOCKTNOSUPPORT)},
		{"tcp6", "Loopback", data(self, nr["socket"], unix.AF_INET6, unix.SOCK_STREAM), deny(unix.EAFNOSUPPORT)},
		{"tcp under None", "None", data(self, nr["socket"], unix.AF_INET, unix.SOCK_STREAM), deny(unix.EPERM)},
		{"tcp6 under None", "None", data(self, nr["socket"], unix.AF_INET6, unix.SOCK_STREAM), deny(unix.EAFNOSUPPORT)},
		{"family with high bits", "None", data(self, nr["socket"], 1<<32|unix.AF_INET), deny(unix.EPERM)},
		{"unix under None", "None", data(self, nr["socket"], unix.AF_UNIX), ok},
		{"unix pair", "None", data(self, nr["socketpair"], unix.AF_UNIX), ok},
		{"packet", "Loopback", data(self, nr["socket"], unix.AF_PACKET), deny(unix.EAFNOSUPPORT)},
		{"vsock", "Loopback", data(self, nr["socket"], unix.AF_VSOCK), deny(unix.EAFNOSUPPORT)},
		{"route", "None", data(self, nr["socket"], unix.AF_NETLINK, 3, 0), ok},
		{"audit", "Loopback", data(self, nr["socket"], unix.AF_NETLINK, 3, 9), deny(unix.EAFNOSUPPORT)},
		{"terminal input", "Loopback", data(self, nr["ioctl"], 0, unix.TIOCSTI), deny(unix.EPERM)},
		{"terminal input, high bits", "Loopback", data(self, nr["ioctl"], 0, 1<<32|unix.TIOCSTI), deny(unix.EPERM)},
		{"terminal size", "Loopback", data(self, nr["ioctl"], 0, unix.TIOCGWINSZ), ok},
	} {
		vm, err := bpf.NewVM(filterFor(m, c.network))
		if err != nil {
			t.Fatal(err)
		}
		got, err := vm.Run(c.data)
		if err != nil || uint32(got) != c.want {
			t.Errorf("%s: %#x, want %#x (%v)", c.name, got, c.want, err)
		}
	}
	vm, _ := bpf.NewVM(filterFor(m, "Loopback"))
	for _, name := range scheduling {
		own, _ := vm.Run(data(self, nr[name], 0))
		other, _ := vm.Run(data(self, nr[name], 1))
		if uint32(own) != ok || uint32(other) != deny(unix.EPERM) {
			t.Errorf("%s: own %#x, another's %#x", name, own, other)
		}
	}
	for _, nr := range m.refused() {
		if got, _ := vm.Run(data(self, nr)); uint32(got) != deny(unix.EPERM) {
			t.Errorf("call %d: %#x", nr, got)
		}
	}
}

func TestHandledRightsFitTheABI(t *testing.T) {
	// From the kernel's own header: 13 rights and refer, then truncate, ioctl on devices.
	for abi, want := range map[int]uint64{2: 1<<14 - 1, 3: 1<<15 - 1, 4: 1<<15 - 1, 5: 1<<16 - 1, 7: 1<<16 - 1} {
		if got := handled(abi); got != want {
			t.Errorf("ABI %d: %#x, want %#x", abi, got, want)
		}
	}
}
