package test

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"agentfleet.dev/runner/internal/link"
)

// shell is an open session.
type shell struct {
	*session
	id, program string
}

// open opens a session with the first of these shells that is there.
func (s *session) open(saved string, shells ...string) *shell {
	s.tb.Helper()
	job := command(shells...)
	job.T, job.ID = "session", fmt.Sprint("s", s.next)
	s.next++
	s.must(s.Send(job, []byte(saved)))
	var o link.Opened
	s.must(s.expect("opened").Decode(&o))
	return &shell{s, job.ID, o.Shell}
}

// begin sends a run and returns its id.
func (x *shell) begin(text string, timeoutMs int64) string {
	x.tb.Helper()
	x.next++
	id := fmt.Sprint("r", x.next)
	x.must(x.Send(link.Run{T: "run", ID: id, Session: x.id, TimeoutMs: timeoutMs, GraceMs: 200, OutputLimitBytes: 1 << 20}, []byte(text)))
	return id
}

// do runs a command to its end.
func (x *shell) do(text string) *outcome {
	x.tb.Helper()
	id := x.begin(text, 10_000)
	return x.finish(id)[id]
}

// dead waits for the session's last frame.
func (x *shell) dead() {
	x.tb.Helper()
	x.expect("closed")
}

var shells = []string{"bash", "sh"}

func TestASessionKeepsFolderVariablesAndFunctions(t *testing.T) {
	s, _ := serve(t, options{})
	for _, program := range shells {
		x := s.open("", program)
		if o := x.do("cd /tmp; export A='1\n2'; f() { echo \"f of $A\"; }"); !o.exited(0) || !o.Session.Alive || o.Session.Cwd != "/tmp" {
			t.Error(program, o, o.Session)
		}
		if o := x.do("f; pwd; false"); !o.exited(1) || string(o.stdout) != "f of 1\n2\n/tmp\n" {
			t.Error(program, o)
		}
		if o := x.do("echo out\necho err >&2"); string(o.stdout) != "out\n" || string(o.stderr) != "err\n" {
			t.Error(program, o)
		}
		if o := x.do("("); o.exited(0) || !o.Session.Alive {
			t.Error(program, "a syntax error:", o)
		}
		if o := x.do("true"); !o.exited(0) || len(o.stdout)+len(o.stderr) > 0 {
			t.Error(program, "after a syntax error:", o)
		}
	}
}

func TestAHungCommandEndsAndBashLives(t *testing.T) {
	s, _ := serve(t, options{})
	for _, program := range shells {
		for _, text := range []string{
			"sleep 100; echo NEXT",
			"trap '' TERM; sleep 100 & wait; echo NEXT",
			"g() { sleep 100; echo NEXT; }; h() { g; echo NEXT; }; h; echo NEXT",
			"while :; do :; done; echo NEXT",
			"(setsid sleep 100 &); sleep 100 | cat; echo NEXT",
			"sh -c 'trap \"\" TERM INT; while :; do sleep 1; done'; echo NEXT",
		} {
			x := s.open("", program)
			if o := x.do("export KEPT=yes; cd /tmp; fun() { echo fun; }"); !o.exited(0) {
				t.Fatal(o)
			}
			id := x.begin(text, 150)
			o := x.finish(id)[id]
			if !o.TimedOut || strings.Contains(string(o.stdout), "NEXT") || o.Session.Cwd != "/tmp" {
				t.Errorf("%s: %q: %s %+v", program, text, o, o.Session)
			}
			if program == "bash" {
				if o := x.do("fun; echo $KEPT"); string(o.stdout) != "fun\nyes\n" {
					t.Errorf("%q lost the shell: %s", text, o)
				}
				s.must(s.Send(link.ByID{T: "close", ID: x.id}, nil))
			} else if o.Session.Alive {
				t.Errorf("%s cannot unwind, but lives: %q", program, text)
			}
			x.dead()
		}
	}
}

func TestAnEndedShellLeavesWhatARebuiltOneNeeds(t *testing.T) {
	s, _ := serve(t, options{})
	for _, program := range shells {
		x := s.open("", program)
		x.do("cd /tmp; export KEPT='a b\nc'")
		id := x.begin("exit 3", 5000)
		var end link.End
		var saved []byte
		for {
			f, err := s.Receive()
			s.must(err)
			if f.T == "end" {
				s.must(f.Decode(&end))
				saved = f.Body
				break
			}
		}
		if end.ID != id || end.ExitCode == nil || *end.ExitCode != 3 || end.Session.Alive || end.Session.Cwd != "/tmp" {
			t.Errorf("%s: %+v %+v", program, end, end.Session)
		}
		x.dead()
		y := s.open(string(saved), program)
		if o := y.do(`printf '%s' "$KEPT"`); string(o.stdout) != "a b\nc" {
			t.Error(program, o)
		}
	}
}

// writing writes to a file for 20 s.
const writing = "end=$(($(date +%s) + 20)); while [ $(date +%s) -lt $end ]; do date >> /workspace/ticks; done"

func TestNothingActsBetweenRuns(t *testing.T) {
	s, c := serve(t, options{})
	for _, program := range shells {
		x := s.open("", program)
		o := x.do("(" + writing + ") & setsid sh -c '" + writing + "' & sleep 0.2; true")
		if !o.exited(0) || o.Swept == 0 || !o.Session.Alive {
			t.Fatal(program, o)
		}
		still(t, c.path("/workspace/ticks"))
	}
}

// Processes that fork and end continually are never all seen at once. Either the rounds kill them,
// or the shell is killed with them; nothing but the shell is ever left.
func TestRabbitsOfASessionAreCaught(t *testing.T) {
	s, c := serve(t, options{})
	for range 5 {
		x := s.open("", "bash")
		o := x.do(helper + " try rabbit 3 & sleep 0.1; true")
		left := c.alive()
		if want := map[bool]int{true: 1, false: 0}[o.Session.Alive]; len(left) > want {
			t.Errorf("%d processes beside the shell: %.500q (%s)", len(left)-want, left, o)
		}
		if o.Session.Alive {
			s.must(s.Send(link.ByID{T: "close", ID: x.id}, nil))
		}
		x.dead()
		c.mustBeEmpty()
	}
}

//go:embed impostor.py
var impostor string

// A shell that was replaced, and has the kernel send it SIGCONT, stays frozen: stopping is not enough.
func TestAReplacedShellIsFrozenToo(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: the impostor knows the system calls of amd64")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: needs python3")
	}
	s, c := serve(t, options{})
	s.run(writeFile("/workspace/impostor.py", impostor))
	x := s.open("", "bash")
	// The private descriptors are out of reach of programs, but the shell's own code can hand them on.
	id := x.begin("exec 15>/proc/$$/fd/11; exec python3 /workspace/impostor.py /workspace/ticks $__af_n", 5000)
	o := x.finish(id)[id]
	if o.Session == nil || !o.Session.Alive {
		t.Fatalf("the impostor did not pass for a shell: %s %+v", o, o.Session)
	}
	still(t, c.path("/workspace/ticks"))
	// It runs on when it is thawed, and no longer than its run.
	id = x.begin("whatever", 300)
	if o = x.finish(id)[id]; !o.TimedOut {
		t.Error(o)
	}
	x.dead()
	still(t, c.path("/workspace/ticks"))
}

// A shell that cannot be frozen would act between its runs. Where tracing is refused none opens, commands run.
func TestNoSessionOpensWhereTracingIsRefused(t *testing.T) {
	s, c := serve(t, options{noTracing: true})
	for _, program := range shells {
		job := command(program)
		job.T, job.ID = "session", "refused-"+program
		s.must(s.Send(job, nil))
		var closed link.Closed
		s.must(s.expect("closed").Decode(&closed))
		if closed.Error == nil || closed.Error.Code != "EPERM" || !strings.Contains(closed.Error.Message, "cannot be frozen") {
			t.Errorf("%s: %+v", program, closed.Error)
		}
		c.mustBeEmpty()
	}
	if o := s.run(command("echo", "still here")); !o.exited(0) || string(o.stdout) != "still here\n" {
		t.Error(o)
	}
}

func TestASessionIsInterruptedClosedAndBounded(t *testing.T) {
	s, _ := serve(t, options{})
	x := s.open("", "bash")
	id := x.begin("sh -c 'echo go; exec sleep 100'; echo after", 10_000)
	s.started()
	s.expect("out")
	s.must(s.Send(link.ByID{T: "interrupt", ID: id}, nil))
	if o := x.finish(id)[id]; string(o.stdout) != "after\n" {
		t.Error("an interrupt ends the child, the line goes on:", o)
	}
	id = x.begin("echo one", 5000)
	second := x.begin("echo two", 5000)
	seen := map[string]string{}
	for len(seen) < 2 {
		f, err := s.Receive()
		s.must(err)
		var e link.Error
		s.must(f.Decode(&e))
		if f.T == "end" || f.T == "error" {
			seen[e.ID] = e.Code
		}
	}
	if seen[second] != "EBUSY" || seen[id] != "" {
		t.Error(seen)
	}
	s.must(s.Send(link.ByID{T: "close", ID: x.id}, nil))
	x.dead()
	if o := s.run(command("sh", "-c", "ls /proc | grep -c '^[0-9]'")); o.exited(1) {
		t.Error(o)
	}
}

func TestDescriptorsOfTheShellReachNoCommand(t *testing.T) {
	s, _ := serve(t, options{})
	for _, program := range shells {
		x := s.open("", program)
		if o := x.do("ls /proc/self/fd"); string(o.stdout) != "0\n1\n2\n3\n" { // 3 is the folder that ls reads
			t.Error(program, o)
		}
	}
}

// path is where a file of the container is seen from here.
func (c *container) path(file string) string {
	return fmt.Sprintf("/proc/%d/root%s", c.cmd.Process.Pid, file)
}

func writeFile(path, content string) link.Exec {
	return command("sh", "-c", "cat > "+path+" <<'END'\n"+content+"END\n")
}

// still makes sure that a file does not grow.
func still(t *testing.T, file string) {
	t.Helper()
	before, _ := os.Stat(file)
	for range 20 {
		time.Sleep(10 * time.Millisecond)
		now, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if before == nil || now.Size() != before.Size() {
			t.Fatalf("%s grows between runs", file)
		}
	}
}

// headless is a process whose first thread ends at once and whose second one writes: /proc calls it a zombie.
const headless = `python3 -c '
import ctypes, platform, threading, time
def tick():
    while True:
        open("/workspace/ticks", "a").write("x"); time.sleep(0.01)
threading.Thread(target=tick).start()
ctypes.CDLL(None).syscall(93 if platform.machine() == "aarch64" else 60, 0)
' & while [ ! -s /workspace/ticks ]; do sleep 0.01; done`

func TestAProcessWithoutItsFirstThreadEndsWithItsCommand(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: needs python3")
	}
	s, c := serve(t, options{})
	other := s.begin(command("sleep", "60"), nil)
	s.started()
	if o := s.run(command("sh", "-c", headless)); !o.exited(0) || o.Swept == 0 {
		t.Error("a command:", o)
	}
	x := s.open("", "bash")
	if o := x.do("rm /workspace/ticks; " + headless); !o.exited(0) || o.Swept == 0 || !o.Session.Alive {
		t.Error("a run:", o)
	}
	for _, line := range c.alive() {
		if strings.Contains(line, "python3") || strings.Contains(line, "(python3)") {
			t.Error("it outlived its command:", line)
		}
	}
	// Nothing else was ended for it.
	s.must(s.Send(link.Kill{T: "kill", ID: other, Reason: "Cancelled"}, nil))
	if o := s.finish(other)[other]; o.Killed == nil || *o.Killed != "Cancelled" {
		t.Error("another command:", o)
	}
}
