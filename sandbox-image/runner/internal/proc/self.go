package proc

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Hide makes the process non-dumpable: its environ, memory, descriptors are closed to others of
// the same uid, and it cannot be traced.
func Hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// Hidden reports whether Hide is in force.
func Hidden() bool {
	v, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	return err == nil && v == 0
}

// AdoptOrphans makes descendants whose parent dies children of this process.
func AdoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// CloseOnExec marks every descriptor from 3 on, so that nothing the container runtime left open
// reaches a command. Kernels before 5.11 lack the call; then the runtime's own care must do.
func CloseOnExec() {
	_ = unix.CloseRange(3, ^uint(0)>>1&0xffffffff, unix.CLOSE_RANGE_CLOEXEC)
}

// ParkThreads makes n threads and leaves them idle in the runtime's pool. The Go runtime aborts
// when it needs a thread and the kernel refuses one, which happens under a fork bomb: with idle
// threads it never needs a new one.
func ParkThreads(n int) {
	gate := make(chan struct{})
	var up, down sync.WaitGroup
	up.Add(n)
	down.Add(n)
	for range n {
		go func() {
			defer down.Done()
			runtime.LockOSThread()
			up.Done()
			<-gate
			runtime.UnlockOSThread()
		}()
	}
	up.Wait()
	close(gate)
	down.Wait()
}

// OOMScore is an open handle on this process's own score; open it before Hide, which gives the
// file to root.
type OOMScore struct {
	file *os.File
	was  string
}

// OpenOOMScore returns a handle that does nothing when the file cannot be opened.
func OpenOOMScore() *OOMScore {
	f, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		return &OOMScore{}
	}
	var buf [16]byte
	n, _ := f.Read(buf[:])
	return &OOMScore{f, strings.TrimSpace(string(buf[:n]))}
}

// Raise makes this process and its children the kernel's first choice to kill.
func (o *OOMScore) Raise() { o.write("1000") }

// Restore resets this process; its children keep the score.
func (o *OOMScore) Restore() { o.write(o.was) }

func (o *OOMScore) write(v string) {
	if o.file != nil && v != "" {
		_, _ = o.file.WriteAt([]byte(v), 0)
	}
}

// Status reads single fields of /proc/self/status.
func Status() map[string]string {
	fields := map[string]string{}
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			fields[k] = strings.TrimSpace(v)
		}
	}
	return fields
}

// InUserNamespace reports whether uid 0 here is not uid 0 of the node.
func InUserNamespace() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	f := strings.Fields(string(text))
	if err != nil || len(f) < 3 {
		return false
	}
	n, _ := strconv.ParseUint(f[2], 10, 64)
	return !(len(f) == 3 && f[0] == "0" && f[1] == "0" && n == 4294967295)
}

// DropThreadCapabilities takes every capability from the calling thread. With no_new_privs, which
// must be in force, nothing that it executes gets one back, also not as uid 0.
func DropThreadCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return os.NewSyscallError("capset", unix.Capset(&header, &none[0]))
}

// DropCapabilities does it for the whole process, and sets no_new_privs.
func DropCapabilities() error {
	if _, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
		return os.NewSyscallError("no_new_privs", e)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, e := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if e != 0 {
		return os.NewSyscallError("capset", e)
	}
	return nil
}

// Powerless reports whether the calling thread has no capability at all.
func Powerless() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data == [2]unix.CapUserData{}
}

// The date in every version of gVisor's /proc/version; the name is in its release since 2025.
const gvisorDate = "#1 SMP Sun Jan 10 15:06:54 PST 2016"

// Guest names the kernel when it is known to differ from the node's: gVisor, Kata, or empty. Images
// cannot change what it reads.
func Guest() string {
	version, _ := os.ReadFile("/proc/version")
	line, _ := os.ReadFile("/proc/cmdline")
	return guestOf(string(version), string(line))
}

func guestOf(version, line string) string {
	if strings.Contains(version, "-gvisor ") || strings.Contains(version, gvisorDate) {
		return "gVisor"
	}
	for _, word := range strings.Fields(line) {
		// Kernel parameters for the agent of the runtime, and the unit that starts it.
		if strings.HasPrefix(word, "agent.") || word == "systemd.unit=kata-containers.target" {
			return "Kata"
		}
	}
	return ""
}
