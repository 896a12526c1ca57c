package sandbox

import (
	"os"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// NetworkNone is the network mode without Internet sockets.
const NetworkNone = "None"

const (
	namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	offsetNr   = 0
	offsetArch = 4
	offsetArgs = 16
)

func errno(e unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(e)}
}

var allow = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}

// low and high load one half of an argument; both architectures are little-endian.
func low(arg uint32) bpf.Instruction  { return bpf.LoadAbsolute{Off: offsetArgs + 8*arg, Size: 4} }
func high(arg uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offsetArgs + 8*arg + 4, Size: 4} }

// is runs then (which ends in a return) for the value val and continues otherwise.
func is(val uint32, then ...bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: val, SkipFalse: uint8(len(then))},
	}, then...)
}

func join(parts ...[]bpf.Instruction) (all []bpf.Instruction) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func cloneRules() []bpf.Instruction {
	return []bpf.Instruction{
		low(0),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: namespaces, SkipFalse: 1},
		errno(unix.EPERM), allow,
	}
}

// ioctlRules refuses pushing bytes into a terminal's input.
func ioctlRules() []bpf.Instruction {
	const tioclinux = 0x541c
	return join([]bpf.Instruction{low(1)},
		is(unix.TIOCSTI, errno(unix.EPERM)), is(tioclinux, errno(unix.EPERM)), []bpf.Instruction{allow})
}

// socketRules allow the families that tools need; the rest is attack surface. Internet sockets are
// IPv4 only: in a cluster of one family, enforcers of NetworkPolicy let link-local IPv6 pass, and
// with it the node and its neighbours. To programs it looks like a kernel without IPv6.
func socketRules(network string) []bpf.Instruction {
	inet := []bpf.Instruction{errno(unix.EPERM)}
	if network != NetworkNone {
		inet = inetRules()
	}
	return join([]bpf.Instruction{low(0)},
		is(unix.AF_UNIX, allow), is(unix.AF_INET, inet...),
		is(unix.AF_NETLINK, join([]bpf.Instruction{low(2)},
			is(unix.NETLINK_ROUTE, allow), []bpf.Instruction{errno(unix.EAFNOSUPPORT)})...),
		[]bpf.Instruction{errno(unix.EAFNOSUPPORT)})
}

// inetRules allow TCP and UDP. Not ICMP: container runtimes open echo sockets to all users, and
// enforcers of NetworkPolicy let echo requests, with their payload, out of any pod.
func inetRules() []bpf.Instruction {
	const typeMask = 0xf // above it are SOCK_CLOEXEC and SOCK_NONBLOCK
	protocol := func(nr uint32) []bpf.Instruction {
		return join([]bpf.Instruction{low(2)}, is(0, allow), is(nr, allow), []bpf.Instruction{errno(unix.EPROTONOSUPPORT)})
	}
	return join([]bpf.Instruction{low(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: typeMask}},
		is(unix.SOCK_STREAM, protocol(unix.IPPROTO_TCP)...), is(unix.SOCK_DGRAM, protocol(unix.IPPROTO_UDP)...),
		[]bpf.Instruction{errno(unix.ESOCKTNOSUPPORT)})
}

// prlimitRules refuses setting another process's limits: the kernel asks only for the same uid,
// so a command could take the supervisor's descriptors or CPU time away.
func prlimitRules() []bpf.Instruction {
	return join([]bpf.Instruction{low(0)}, is(0, allow), []bpf.Instruction{
		low(2),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		errno(unix.EPERM),
		high(2),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		errno(unix.EPERM),
		allow,
	})
}

// ownOnly lets a thread change itself, which is called 0. A thread id does not show its owner: a
// command could take the processors from PID 1 or its supervisor and outlive its kill. Ids of other
// threads of the same process are refused with them.
func ownOnly() []bpf.Instruction {
	return join([]bpf.Instruction{low(0)}, is(0, allow), []bpf.Instruction{errno(unix.EPERM)})
}

// priorityRules are for calls whose first argument selects the kind of the second: a thread, a
// process group (a command's own holds no runner process) or, refused, all processes of the uid.
func priorityRules(thread, group uint32) []bpf.Instruction {
	own := join([]bpf.Instruction{low(1)}, is(0, allow), []bpf.Instruction{errno(unix.EPERM)})
	return join([]bpf.Instruction{low(0)}, is(thread, own...), is(group, own...), []bpf.Instruction{errno(unix.EPERM)})
}

// schedulingRules protect the CPU share of the runner and the supervisors.
func (m machine) schedulingRules() (all []bpf.Instruction) {
	for _, name := range scheduling {
		all = append(all, is(m.judged(name), ownOnly()...)...)
	}
	const ioThread, ioGroup = 1, 2 // IOPRIO_WHO_…
	return join(all,
		is(m.judged("setpriority"), priorityRules(unix.PRIO_PROCESS, unix.PRIO_PGRP)...),
		is(m.judged("ioprio_set"), priorityRules(ioThread, ioGroup)...))
}

// filterFor is the whole program of one architecture for one network mode.
func filterFor(m machine, network string) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: m.audit, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: offsetNr, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: foreignNumbers, SkipFalse: 1},
		errno(unix.EPERM),
	}
	for _, nr := range m.refused() {
		program = append(program, is(nr, errno(unix.EPERM))...)
	}
	sockets := socketRules(network)
	return join(program,
		// The C libraries fall back to clone, whose flags a filter can read.
		is(m.judged("clone3"), errno(unix.ENOSYS)),
		is(m.judged("clone"), cloneRules()...),
		is(m.judged("ioctl"), ioctlRules()...),
		is(m.judged("socket"), sockets...),
		is(m.judged("socketpair"), sockets...),
		is(m.judged("prlimit64"), prlimitRules()...),
		m.schedulingRules(),
		[]bpf.Instruction{allow})
}

// encode converts a program to the kernel's format.
func encode(program []bpf.Instruction) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, err
	}
	out := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		out[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return out, nil
}

// filter puts the program in force on the calling thread; no_new_privs must be set.
func filter(program []unix.SockFilter) error {
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	if e != 0 {
		return os.NewSyscallError("seccomp", e)
	}
	return nil
}
