package test

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// try runs the helper inside the sandbox. It prints one word per attempt: the errno's name, or
// "ok".
func try(args []string) int {
	switch args[0] {
	case "calls":
		for _, name := range args[1:] {
			fmt.Printf("%s=%s ", name, word(attempt(name)))
		}
	case "daemon":
		daemon(args[1])
	case "sleep":
		time.Sleep(time.Hour)
	case "rabbit":
		rabbit(args[1])
	case "hold":
		hold(args[1])
	case "pass":
		pass(args[1])
	case "eat":
		eat()
	case "net":
		// TCP, UDP, IPv6, echo requests, and sockets of the container alone.
		fmt.Print(word(socket(unix.AF_INET, unix.SOCK_STREAM, 0)), " ", word(socket(unix.AF_INET, unix.SOCK_DGRAM, 0)), " ",
			word(socket(unix.AF_INET6, unix.SOCK_DGRAM, 0)), " ", word(socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)), " ",
			word(socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)))
	}
	return 0
}

func word(err error) string {
	if e, ok := err.(unix.Errno); ok && e != 0 {
		return unix.ErrnoName(e)
	}
	if err != nil {
		return err.Error()
	}
	return "ok"
}

func socket(family, kind, proto int) error {
	fd, err := unix.Socket(family, kind, proto)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func call(nr uintptr, a ...uintptr) error {
	a = append(a, 0, 0, 0, 0, 0, 0)
	_, _, e := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if e == 0 {
		return nil
	}
	return e
}

const bad = ^uintptr(0)

var numbers = map[string]uintptr{
	"ptrace": unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
	"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "fsopen": unix.SYS_FSOPEN, "fsmount": unix.SYS_FSMOUNT,
	"move_mount": unix.SYS_MOVE_MOUNT, "open_tree": unix.SYS_OPEN_TREE, "mount_setattr": unix.SYS_MOUNT_SETATTR,
	"pivot_root": unix.SYS_PIVOT_ROOT, "unshare": unix.SYS_UNSHARE, "setns": unix.SYS_SETNS, "keyctl": unix.SYS_KEYCTL,
	"add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY, "bpf": unix.SYS_BPF,
	"perf_event_open": unix.SYS_PERF_EVENT_OPEN, "userfaultfd": unix.SYS_USERFAULTFD, "io_uring_setup": unix.SYS_IO_URING_SETUP,
	"io_uring_enter": unix.SYS_IO_URING_ENTER, "io_uring_register": unix.SYS_IO_URING_REGISTER, "kexec_load": unix.SYS_KEXEC_LOAD,
	"init_module": unix.SYS_INIT_MODULE, "finit_module": unix.SYS_FINIT_MODULE, "open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT,
	"pidfd_getfd": unix.SYS_PIDFD_GETFD, "kcmp": unix.SYS_KCMP, "clone3": unix.SYS_CLONE3,
}

// attempt gives most calls bad descriptors and pointers, so that without the filter the kernel
// answers EBADF, EFAULT or EINVAL and never the filter's errno by chance.
func attempt(name string) error {
	kind, arg, _ := strings.Cut(name, ":")
	if arg == "parent" { // the supervisor
		arg = strconv.Itoa(os.Getppid())
	}
	switch kind {
	case "clone_newuser":
		return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD))
	case "clone_newpid":
		return call(unix.SYS_CLONE, unix.CLONE_NEWPID|uintptr(unix.SIGCHLD))
	case "tiocsti":
		return call(unix.SYS_IOCTL, bad, unix.TIOCSTI)
	case "tcgets":
		return call(unix.SYS_IOCTL, bad, unix.TCGETS)
	case "x32":
		return call(0x40000000 + 39)
	case "socket":
		n, _ := strconv.Atoi(arg)
		return socket(n, unix.SOCK_RAW, 0)
	case "netlink":
		n, _ := strconv.Atoi(arg)
		return socket(unix.AF_NETLINK, unix.SOCK_RAW, n)
	case "prlimit":
		n, _ := strconv.Atoi(arg)
		lim := unix.Rlimit{Cur: 3, Max: 3}
		return call(unix.SYS_PRLIMIT64, uintptr(n), unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&lim)), 0)
	case "nice", "nicegroup", "niceuser": // with who == 0: the caller
		n, _ := strconv.Atoi(arg)
		which := map[string]int{"nice": unix.PRIO_PROCESS, "nicegroup": unix.PRIO_PGRP, "niceuser": unix.PRIO_USER}[kind]
		return unix.Setpriority(which, n, 15)
	case "idle":
		n, _ := strconv.Atoi(arg)
		var param int32
		return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(n), 5 /* SCHED_IDLE */, uintptr(unsafe.Pointer(&param)))
	case "attr":
		n, _ := strconv.Atoi(arg)
		return unix.SchedSetAttr(n, &unix.SchedAttr{Policy: 5}, 0)
	case "affinity":
		n, _ := strconv.Atoi(arg)
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			return err
		}
		return unix.SchedSetaffinity(n, &set)
	case "ioprio":
		n, _ := strconv.Atoi(arg)
		return call(unix.SYS_IOPRIO_SET, 1, uintptr(n), 3<<13)
	case "setrlimit":
		lim := unix.Rlimit{Cur: 100, Max: 100}
		return call(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&lim)), 0)
	case "shmget":
		return call(unix.SYS_SHMGET, 0x5151, 4096, unix.IPC_CREAT|0o600)
	case "semget":
		return call(unix.SYS_SEMGET, 0x5151, 1, unix.IPC_CREAT|0o600)
	case "msgget":
		return call(unix.SYS_MSGGET, 0x5151, unix.IPC_CREAT|0o600)
	case "kill":
		n, _ := strconv.Atoi(arg)
		return unix.Kill(n, unix.SIGKILL)
	case "killparent":
		return unix.Kill(os.Getppid(), unix.SIGKILL)
	case "read":
		return opens(arg, unix.O_RDONLY)
	case "write":
		return opens(arg, unix.O_WRONLY)
	case "create":
		return opens(arg, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	case "rename":
		from, to, _ := strings.Cut(arg, ":")
		return unix.Rename(from, to)
	case "mkdir":
		return unix.Mkdir(arg, 0o755)
	}
	return call(numbers[name], bad, bad, bad, bad)
}

func opens(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o644)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// daemon leaves everything a supervisor could be known by: session, parent, environment.
func daemon(step string) {
	unix.Setsid()
	next := []string{"helper", "try", "daemon", "2"}
	if step == "2" {
		next = []string{"helper", "try", "sleep"}
	}
	null, _ := os.Open("/dev/null")
	// TERM stays ignored after exec.
	act := [4]uintptr{1}
	_ = call(unix.SYS_RT_SIGACTION, uintptr(unix.SIGTERM), uintptr(unsafe.Pointer(&act)), 0, 8)
	if _, err := syscall.ForkExec(helper, next, &syscall.ProcAttr{
		Dir: "/", Files: []uintptr{null.Fd(), 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	}); err != nil {
		fmt.Println("daemon:", err)
	}
	time.Sleep(20 * time.Millisecond)
}

// rabbit forks, lets the parent end and leaves the session, faster than /proc can be read.
func rabbit(chains string) {
	n, _ := strconv.Atoi(chains)
	runtime.LockOSThread()
	for range n {
		unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	}
	for {
		pid, _, _ := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if pid != 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		unix.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
	}
}

// eat touches memory until it is killed.
func eat() {
	for {
		b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			fmt.Println(word(err))
			return
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
	}
}

// hold keeps the descriptor that pass sends, and writes nothing.
func hold(path string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := l.AcceptUnix()
	if err != nil {
		return
	}
	_, _, _, _, _ = c.ReadMsgUnix(make([]byte, 1), make([]byte, 64))
	_, _ = c.Write([]byte{1})
	time.Sleep(time.Hour)
}

func pass(path string) {
	var c *net.UnixConn
	var err error
	for range 100 {
		if c, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: path}); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _, _ = c.WriteMsgUnix([]byte{1}, unix.UnixRights(1), nil)
	_, _ = c.Read(make([]byte, 1))
	fmt.Println("passed")
}

// refuse makes a system call fail for this thread and the program that it executes.
func refuse(call uint32) error {
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number comes first in seccomp_data
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&fprog)), 0, 0)
}
