package supervise

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
)

// looks are the results of successive scans, without the shell.
type looks struct {
	shell int
	found [][]int
	count int
}

func (l *looks) Scan() (map[int]proc.Process, error) {
	all := map[int]proc.Process{l.shell: {PID: l.shell, Parent: os.Getpid(), Group: l.shell}}
	for _, pid := range l.found[l.count] {
		all[pid] = proc.Process{PID: pid, Parent: l.shell, Group: pid}
	}
	l.count++
	return all, nil
}

// sent keeps the messages of a session.
type sent struct{ bytes.Buffer }

func (*sent) Close() error { return nil }

// sleeper starts an idle process in a separate group.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

func TestARunEndsAfterTwoQuietLooks(t *testing.T) {
	shell, born := sleeper(t), sleeper(t)
	// The first look misses a process that is being born, as one that reads folder after folder can.
	reader := &looks{shell: shell.Process.Pid, found: [][]int{{}, {born.Process.Pid}, {}, {}}}
	said := &sent{}
	task := newTask(&link.Exec{ID: "one"}, link.NewConn(said))
	task.reader = reader
	s := newSession(task)
	s.root, s.opened, s.frozen, s.run = shell.Process.Pid, true, true, &link.Run{ID: "one"}
	// However slow the machine is, the time for it is not over.
	s.settling = time.Now().Add(time.Hour)

	s.nextRound()
	if s.run == nil || said.Len() > 0 || reader.count != 2 || s.swept != 1 {
		t.Fatalf("after %d looks, of which one found a process: ended %v, swept %d", reader.count, s.run == nil, s.swept)
	}
	s.nextRound()
	if s.run != nil || reader.count != 4 {
		t.Fatalf("after %d looks, two of them quiet: ended %v", reader.count, s.run == nil)
	}
	var end link.End
	if f, err := link.NewConn(said).Receive(); err != nil || f.T != "end" || f.Decode(&end) != nil || end.Swept != 1 || !end.Session.Alive {
		t.Errorf("it reported %+v, %v", end, err)
	}
	if err := born.Wait(); err == nil || born.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the new process ended with %v", err)
	}
}
