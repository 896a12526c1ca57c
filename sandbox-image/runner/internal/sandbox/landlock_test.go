package sandbox

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// domain runs try on a separate thread under Landlock without the filter, so that every refusal is
// Landlock's.
func domain(t *testing.T, rules *ruleset, try func() []error) []error {
	t.Helper()
	done := make(chan []error)
	go func() {
		runtime.LockOSThread() // never unlocked: the runtime ends the thread
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			done <- []error{err}
			return
		}
		if err := rules.enforce(); err != nil {
			done <- []error{err}
			return
		}
		done <- try()
	}()
	return <-done
}

func TestClosedPortsDenyTCPWithoutTheFilter(t *testing.T) {
	if ABI() < 4 {
		t.Skip("SKIPPED: needs Landlock ABI 4")
	}
	try := func() []error {
		var all []error
		for _, call := range []func(int, unix.Sockaddr) error{unix.Bind, unix.Connect} {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return []error{err}
			}
			all = append(all, call(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: 9}))
			unix.Close(fd)
		}
		return all
	}
	rules, err := closedPorts(ABI())
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range domain(t, rules, try) {
		if err != unix.EACCES {
			t.Errorf("bind, connect: %d is %v, want EACCES", i, err)
		}
	}
	// Outside, Landlock does not refuse the same calls.
	for i, err := range try() {
		if i == 1 && err != unix.ECONNREFUSED || i == 0 && err != nil && os.Geteuid() == 0 {
			t.Errorf("bind, connect: %d is %v without the rules", i, err)
		}
	}
}

func TestTheFirstVersionIsLeftOut(t *testing.T) {
	for offered, want := range map[int]int{0: 0, 1: 0, 2: 2, 3: 3, 7: 7} {
		if got := usable(offered); got != want {
			t.Errorf("ABI %d: %d is used, want %d", offered, got, want)
		}
	}
}

func TestOldKernelsHaveNoPortsToClose(t *testing.T) {
	for abi := range 4 {
		if rules, err := closedPorts(abi); rules != nil || err != nil {
			t.Errorf("ABI %d: %v %v", abi, rules, err)
		}
	}
}
