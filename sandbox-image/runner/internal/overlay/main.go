package overlay

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"golang.org/x/sys/unix"
)

// controlFD is where the keeper finds its end of the control.
const controlFD = 3

// Main starts a program without capabilities, mounts for it, and ends with it. $AGENTFLEET_MOUNTS
// is the socket for the runner, $AGENTFLEET_LINK_KEY the key that the runner must prove.
func Main(args []string) int {
	key, path := os.Getenv("AGENTFLEET_LINK_KEY"), os.Getenv("AGENTFLEET_MOUNTS")
	if len(key) < link.MinKey || path == "" || len(args) == 0 {
		fmt.Fprintln(os.Stderr, "runner mount: needs AGENTFLEET_LINK_KEY, AGENTFLEET_MOUNTS and a program")
		return 2
	}
	runtime.GOMAXPROCS(2)
	unix.Umask(0)
	m := newMounter([]byte(key))
	if err := m.listen(path); err != nil {
		fmt.Fprintln(os.Stderr, "runner mount:", err)
		return 1
	}
	control, theirs, err := link.Pair()
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner mount:", err)
		return 1
	}
	pid, err := startPowerless(args, theirs)
	unix.Close(theirs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner mount:", args[0]+":", err)
		return 1
	}
	go forward(pid)
	go func() {
		// A keeper that cannot mount is useless; its container restarts, and mounts the recorded
		// stack.
		err := m.obey(link.NewConn(control))
		fmt.Fprintln(os.Stderr, "runner mount: the control ended:", err)
		_ = unix.Kill(pid, unix.SIGTERM)
	}()
	return await(pid)
}

// startPowerless runs a program that has no capability and cannot gain one. Capabilities belong to
// threads: the one that forks gives them up and is thrown away.
func startPowerless(args []string, control int) (int, error) {
	type result struct {
		pid int
		err error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = proc.DropThreadCapabilities()
		}
		if err != nil {
			done <- result{0, err}
			return
		}
		env := append(os.Environ(), "AGENTFLEET_MOUNTER_FD="+strconv.Itoa(controlFD))
		pid, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2, uintptr(control)}})
		done <- result{pid, err}
	}()
	r := <-done
	return r.pid, r.err
}

func forward(pid int) {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGUSR2)
	for sig := range ch {
		if s, ok := sig.(syscall.Signal); ok {
			_ = unix.Kill(pid, s)
		}
	}
}

// await reaps children, orphans too, and returns the program's status.
func await(pid int) int {
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, 0, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 1
		}
		if got != pid {
			continue
		}
		if ws.Signaled() {
			return 128 + int(ws.Signal())
		}
		return ws.ExitStatus()
	}
}
