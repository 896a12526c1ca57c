package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentfleet.dev/runner/internal/link"
)

// rss is the resident memory of PID 1 in bytes.
func (c *container) rss() int { return c.status("VmRSS:") << 10 }

// status is a number of PID 1's status.
func (c *container) status(key string) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == key {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

func TestTimeoutKillsWhoHides(t *testing.T) {
	s, c := serve(t, options{})
	job := command("sh", "-c", helper+" try daemon 1 & trap '' TERM; while :; do sleep 1; done")
	job.TimeoutMs, job.GraceMs = 400, 300
	o := s.run(job)
	c.mustBeEmpty()
	if !o.TimedOut || o.Swept < 1 || o.Killed != nil || o.DurationMs < 700 || o.DurationMs > 3000 {
		t.Errorf("after %d ms: %s", o.DurationMs, o)
	}
}

func TestTermIsEnoughForWhoListens(t *testing.T) {
	s, c := serve(t, options{})
	job := command("sh", "-c", "trap 'echo bye; exit 9' TERM; sleep 60 & wait")
	job.TimeoutMs, job.GraceMs = 200, 5000
	o := s.run(job)
	c.mustBeEmpty()
	if !o.TimedOut || !o.exited(9) || string(o.stdout) != "bye\n" || o.DurationMs > 3000 {
		t.Errorf("after %d ms: %s", o.DurationMs, o)
	}
}

func TestSurvivorsAreSweptAfterAnEndInPeace(t *testing.T) {
	s, c := serve(t, options{})
	o := s.run(command("sh", "-c", helper+" try daemon 1; sleep 60 & exit 3"))
	c.mustBeEmpty()
	if !o.exited(3) || o.Swept < 2 || o.TimedOut || o.DurationMs > 3000 {
		t.Error(o)
	}
}

func TestSupervisorCannotBeHarmed(t *testing.T) {
	s, c := serve(t, options{})
	if s.info.LandlockABI < 6 {
		t.Skip("SKIPPED: needs Landlock ABI 6")
	}
	other := s.begin(command("sleep", "60"), nil)
	s.started()
	o := s.run(command(helper, "try", "calls", "killparent", "kill:1", "kill:-1", "prlimit:1", "setrlimit",
		"read:/proc/1/environ", "read:/proc/1/mem", "read:/proc/1/maps", "read:/proc/1/fd/3", "read:/proc/1/root/.agentfleet"))
	want := "killparent=EPERM kill:1=EPERM kill:-1=ok prlimit:1=EPERM setrlimit=ok read:/proc/1/environ=EACCES " +
		"read:/proc/1/mem=EACCES read:/proc/1/maps=EACCES read:/proc/1/fd/3=EACCES read:/proc/1/root/.agentfleet=EACCES "
	if string(o.stdout) != want {
		t.Errorf("got  %s\nwant %s (%s)", o.stdout, want, o)
	}
	// Killing all processes succeeded, and reached none.
	s.must(s.Send(link.Kill{T: "kill", ID: other, Reason: "done"}, nil))
	if o := s.finish(other)[other]; !o.killedFor("done") {
		t.Errorf("the other command: %s", o)
	}
	c.mustBeEmpty()
}

// PID 1 and the supervisors keep their CPU share: without it they could not end a command that
// spins in many threads.
func TestSchedulingOfOthersCannotBeChanged(t *testing.T) {
	s, c := serve(t, options{})
	other := s.begin(command("sleep", "60"), nil)
	s.started()
	for _, who := range []string{"1", "parent"} {
		calls := []string{"nice:" + who, "nicegroup:" + who, "niceuser:0", "idle:" + who, "attr:" + who, "affinity:" + who, "ioprio:" + who, "prlimit:" + who}
		want := strings.Join(calls, "=EPERM ") + "=EPERM "
		if o := s.run(command(append([]string{helper, "try", "calls"}, calls...)...)); string(o.stdout) != want {
			t.Errorf("got  %s\nwant %s", o.stdout, want)
		}
	}
	// Calls of programs on themselves still work.
	o := s.run(command(helper, "try", "calls", "nice:0", "nicegroup:0", "idle:0", "affinity:0", "ioprio:0"))
	if string(o.stdout) != "nice:0=ok nicegroup:0=ok idle:0=ok affinity:0=ok ioprio:0=ok " {
		t.Error(o)
	}
	if o := s.run(command("sh", "-c", "nice -n 3 true && taskset -c 0 true && ionice -c 3 true && chrt -i 0 true && echo done")); string(o.stdout) != "done\n" {
		t.Error(o)
	}
	s.must(s.Send(link.Kill{T: "kill", ID: other, Reason: "done"}, nil))
	s.finish(other)
	c.mustBeEmpty()
}

func parentOf(pid string) int {
	text, _ := os.ReadFile("/proc/" + pid + "/status")
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "PPid:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(v))
			return n
		}
	}
	return 0
}

func TestDeadSupervisorLeavesNothing(t *testing.T) {
	s, c := serve(t, options{})
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: needs root to kill the supervisor from outside")
	}
	other := s.begin(command("sleep", "60"), nil)
	s.started()
	id := s.begin(command("sh", "-c", helper+" try daemon 1; sleep 60"), nil)
	s.started()
	time.Sleep(200 * time.Millisecond)
	killed := 0
	for _, line := range c.all() {
		pid, name, _ := strings.Cut(line, " ")
		// The supervisor of the shell, by kinship: there is a spare one as well.
		if strings.HasPrefix(name, "sh -c") {
			killed = parentOf(pid)
		}
	}
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	o := s.finish(id)[id]
	if !o.killedFor("SupervisorDied") || o.Swept == 0 {
		t.Error(o)
	}
	if left := c.alive(); len(left) != 1 { // the other command
		t.Errorf("left: %q", left)
	}
	s.must(s.Send(link.Kill{T: "kill", ID: other, Reason: "done"}, nil))
	s.finish(other)
	c.mustBeEmpty()
}

// A process of another command may hold the pipe open: the end must not wait for it.
func TestPipeHeldByAnotherCommandDoesNotDelayTheEnd(t *testing.T) {
	s, c := serve(t, options{})
	holder := s.begin(command(helper, "try", "hold", "/workspace/pass"), nil)
	s.started()
	id := s.begin(command(helper, "try", "pass", "/workspace/pass"), nil)
	began := time.Now()
	o := s.finish(id)[id]
	if d := time.Since(began); d > 2*time.Second || !o.exited(0) || string(o.stdout) != "passed\n" {
		t.Errorf("after %v: %s", d, o)
	}
	s.must(s.Send(link.Kill{T: "kill", ID: holder, Reason: "done"}, nil))
	s.finish(holder)
	c.mustBeEmpty()
}

func TestProcessLimitEndsTheTree(t *testing.T) {
	s, c := serve(t, options{})
	n := 20
	job := command("sh", "-c", "for i in $(seq 60); do sleep 60 & done; wait")
	job.Limits.Processes = &n
	o := s.run(job)
	c.mustBeEmpty()
	if !o.killedFor("ProcessLimit") || o.DurationMs > 3000 {
		t.Error(o)
	}
}

// pidsGroup makes a control group with a limit on processes.
func pidsGroup(t *testing.T, limit int) string {
	t.Helper()
	for _, base := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		dir := filepath.Join(base, "agentfleet-test-"+strconv.Itoa(os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		if os.WriteFile(dir+"/pids.max", []byte(strconv.Itoa(limit)), 0) == nil {
			return "pids=" + dir
		}
	}
	t.Skip("SKIPPED: needs root and a pids control group")
	return ""
}

// The bomb takes every process of the container. PID 1 must survive, report commands that it cannot
// start, end the bomb and work again.
func TestForkBombDoesNotReachPID1(t *testing.T) {
	s, c := serve(t, options{cgroup: pidsGroup(t, 300)})
	threads := c.status("Threads:")
	if threads < 16 {
		t.Errorf("PID 1 has %d threads in stock: it will need a new one when it cannot have it", threads)
	}
	none := 1 << 20
	bomb := command("sh", "-c", "b() { b | b & b & }; b; while :; do :; done")
	bomb.TimeoutMs, bomb.GraceMs, bomb.Limits.Processes = 2500, 200, &none
	id := s.begin(bomb, nil)
	s.started()
	time.Sleep(time.Second)
	starved := s.begin(command("true"), nil)
	s.must(s.Send(map[string]any{"t": "ping", "id": 1}, nil))
	began, ended, ponged := time.Now(), map[string]link.End{}, false
	for len(ended) < 2 || !ponged {
		f, err := s.Receive()
		s.must(err)
		switch f.T {
		case "pong":
			ponged = true
			if d := time.Since(began); d > time.Second {
				t.Errorf("pong after %v", d)
			}
		case "end":
			var e link.End
			s.must(f.Decode(&e))
			ended[e.ID] = e
		}
	}
	c.mustBeEmpty()
	t.Logf("bomb: %s; starved: %s", &outcome{End: ended[id]}, &outcome{End: ended[starved]})
	if e := ended[id]; !e.TimedOut || e.DurationMs > 8000 {
		t.Errorf("the bomb ended after %d ms: %s", e.DurationMs, &outcome{End: e})
	}
	if now := c.status("Threads:"); now > threads {
		t.Errorf("PID 1 went from %d to %d threads", threads, now)
	}
	if o := s.run(command("echo", "again")); string(o.stdout) != "again\n" {
		t.Error(o)
	}
}

func TestOOMKillIsReported(t *testing.T) {
	dir := "/sys/fs/cgroup/memory/agentfleet-test-" + strconv.Itoa(os.Getpid())
	if os.Mkdir(dir, 0o755) != nil || os.WriteFile(dir+"/memory.limit_in_bytes", []byte("67108864"), 0) != nil {
		t.Skip("SKIPPED: needs root and memory control groups v1")
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	s, c := serve(t, options{cgroup: "memory=" + dir})
	if o := s.run(command("true")); o.OOM == nil || *o.OOM {
		t.Errorf("oom without reason: %s", o)
	}
	o := s.run(command(helper, "try", "eat"))
	c.mustBeEmpty()
	if o.OOM == nil || !*o.OOM || o.Signal == nil || *o.Signal != "SIGKILL" || o.Killed != nil {
		t.Errorf("oom %v: %s", o.OOM, o)
	}
}
