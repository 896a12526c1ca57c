package test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"agentfleet.dev/runner/internal/link"
)

// put sends input and returns the answer's code.
func (s *session) put(id string, seq int64, text string, eof bool) string {
	s.tb.Helper()
	s.must(s.Send(link.Stdin{T: "stdin", ID: id, Seq: seq, EOF: eof}, []byte(text)))
	var a link.Stdin
	s.must(s.answered().Decode(&a))
	if a.ID != id || a.Seq != seq {
		s.tb.Fatalf("an answer to something else: %+v", a)
	}
	return a.Code
}

// answered receives the answer to input. Output that arrives before it is kept for said.
func (s *session) answered() link.Frame {
	s.tb.Helper()
	for {
		f, err := s.Receive()
		s.must(err)
		switch f.T {
		case "stdin":
			return f
		case "out":
			s.early = append(s.early, f.Body...)
		default:
			s.tb.Fatalf("%s instead of an answer to input", f.Header)
		}
	}
}

// write puts input as soon as there is room for it.
func (s *session) write(id string, seq int64, text string) string {
	s.tb.Helper()
	for {
		if code := s.put(id, seq, text, false); code != "EAGAIN" {
			return code
		}
	}
}

// last writes the last input of a command as soon as there is room for it, and collects its output
// until it ends. The answer may arrive before or after that.
func (s *session) last(id string, seq int64, text string, eof bool) *outcome {
	s.tb.Helper()
	put := func() { s.must(s.Send(link.Stdin{T: "stdin", ID: id, Seq: seq, EOF: eof}, []byte(text))) }
	o := &outcome{}
	put()
	for answered, ended := false, false; !answered || !ended; {
		f, err := s.Receive()
		s.must(err)
		switch f.T {
		case "stdin":
			var a link.Stdin
			s.must(f.Decode(&a))
			if answered = a.Code != "EAGAIN"; !answered {
				put()
			}
		case "out":
			var head struct{ Stream string }
			s.must(f.Decode(&head))
			o.collect(head.Stream, f.Body)
		case "end":
			s.must(f.Decode(&o.End))
			ended = true
		default:
			s.tb.Fatalf("unexpected %s", f.Header)
		}
	}
	return o
}

// said collects output until it ends with end.
func (s *session) said(end string) string {
	s.tb.Helper()
	var text strings.Builder
	text.Write(s.early)
	s.early = nil
	for !strings.HasSuffix(text.String(), end) {
		text.Write(s.expect("out").Body)
	}
	return text.String()
}

func TestStandardInputStaysOpenUntilItsEnd(t *testing.T) {
	s, _ := serve(t, options{})
	job := command("sh", "-c", "while read line; do echo got $line; done; echo over")
	job.StdinOpen = true
	id := s.begin(job, nil)
	s.started()
	for seq, word := range []string{"one", "two"} {
		if code := s.write(id, int64(seq)+1, word+"\n"); code != "" {
			t.Fatal(code)
		}
		if text := s.said("\n"); text != "got "+word+"\n" {
			t.Error(text)
		}
	}
	if o := s.last(id, 3, "", true); !o.exited(0) || string(o.stdout) != "over\n" {
		t.Error(o)
	}
	if code := s.put(id, 4, "late", false); code != "ESRCH" {
		t.Error(code)
	}
}

// The keeper repeats a part whose answer was too late.
func TestAPartThatIsRepeatedIsWrittenOnce(t *testing.T) {
	s, _ := serve(t, options{})
	job := command("sh", "-c", "cat > got; cat got") // silent until the end
	job.StdinOpen = true
	id := s.begin(job, nil)
	s.started()
	for _, part := range []struct {
		seq  int64
		text string
	}{{1, "one "}, {1, "one "}, {2, "two\n"}, {1, "one "}, {2, "two\n"}} {
		if code := s.write(id, part.seq, part.text); code != "" {
			t.Fatal(code)
		}
	}
	if o := s.last(id, 3, "", true); !o.exited(0) || string(o.stdout) != "one two\n" {
		t.Error(o)
	}
}

func TestAFullPipeIsBusyAndHoldsUpNobody(t *testing.T) {
	s, _ := serve(t, options{})
	job := command("sleep", "100")
	job.StdinOpen = true
	id := s.begin(job, nil)
	s.started()
	codes := ""
	for seq := range int64(8) {
		codes += s.put(id, seq+1, strings.Repeat("x", 64<<10), false) + " "
	}
	if !strings.HasSuffix(codes, "EAGAIN EAGAIN EAGAIN EAGAIN ") {
		t.Error(codes)
	}
	// Others go on.
	if o := s.run(command("echo", "here")); string(o.stdout) != "here\n" {
		t.Error(o)
	}
	s.must(s.Send(link.Kill{T: "kill", ID: id, Reason: "Cancelled"}, nil))
	if o := s.finish(id)[id]; !o.killedFor("Cancelled") {
		t.Error(o)
	}
	job = command("sh", "-c", "exec <&-; echo shut; sleep 100")
	job.StdinOpen = true
	id = s.begin(job, nil)
	s.started()
	s.said("shut\n")
	for seq, code := int64(1), ""; code != "EPIPE"; seq++ { // a write finds out
		if code = s.put(id, seq, "x", false); code != "" && code != "EAGAIN" && code != "EPIPE" {
			t.Fatal(code)
		}
	}
	s.must(s.Send(link.Kill{T: "kill", ID: id, Reason: "Cancelled"}, nil))
	s.finish(id)
}

func onTerminal(argv ...string) link.Exec {
	job := command(argv...)
	job.Pty = &link.Pty{Rows: 24, Columns: 80}
	return job
}

func TestACommandOnATerminal(t *testing.T) {
	s, _ := serve(t, options{})
	job := onTerminal("sh", "-c", "stty size; tty; echo err >&2; ps -o tpgid= -p $$ | tr -d ' ' | grep -qx $$ && echo foreground; : > /dev/tty && echo controls")
	o := s.run(job)
	if !o.exited(0) || string(o.stdout) != "24 80\r\n/dev/pts/0\r\nerr\r\nforeground\r\ncontrols\r\n" || len(o.stderr) > 0 {
		t.Error(o)
	}
	// A terminal gives a command no further rights.
	o = s.run(onTerminal(helper, "try", "calls", "tiocsti", "ptrace", "unshare"))
	if string(bytes.TrimSpace(o.stdout)) != "tiocsti=EPERM ptrace=EPERM unshare=EPERM" {
		t.Error(o)
	}
	o = s.run(onTerminal("sh", "-c", "cat /.agentfleet/bin/runner; echo no > /writable-by-mode/x"))
	if o.exited(0) {
		t.Error(o)
	}
}

// A command that reads beside another one has its own terminal and no other.
func TestAReaderOpensNoOthersTerminal(t *testing.T) {
	s, c := serve(t, options{})
	if s.info.LandlockABI < 3 {
		t.Skip("SKIPPED: needs Landlock ABI 3")
	}
	writer := s.begin(onTerminal("sleep", "100"), nil)
	s.started()
	reader := command(helper, "try", "calls", "read:/dev/pts/0", "write:/dev/pts/0", "read:/dev/pts", "read:/dev/urandom", "write:/dev/null")
	reader.ReadOnly = true
	want := "read:/dev/pts/0=EACCES write:/dev/pts/0=EACCES read:/dev/pts=ok read:/dev/urandom=ok write:/dev/null=ok"
	if o := s.run(reader); strings.TrimSpace(string(o.stdout)) != want {
		t.Errorf("got  %s\nwant %s", o.stdout, want)
	}
	own := onTerminal(helper, "try", "calls", "write:/dev/pts/1", "write:/dev/tty", "write:/dev/pts/0")
	own.ReadOnly = true
	want = "write:/dev/pts/1=ok write:/dev/tty=ok write:/dev/pts/0=EACCES"
	if o := s.run(own); strings.TrimSpace(string(o.stdout)) != want {
		t.Errorf("got  %s\nwant %s", o.stdout, want)
	}
	s.must(s.Send(link.Kill{T: "kill", ID: writer, Reason: "done"}, nil))
	s.finish(writer)
	// A writing command may create more of them.
	if o := s.run(command("python3", "-c", "import pty, os; m, s = pty.openpty(); os.write(s, b'x'); print(os.read(m, 1).decode())")); string(o.stdout) != "x\n" {
		t.Error(o)
	}
	c.mustBeEmpty()
}

func TestATerminalIsResizedInterruptedAndEnded(t *testing.T) {
	s, c := serve(t, options{})
	id := s.begin(onTerminal("sh", "-c", "trap 'stty size' WINCH; trap 'echo INT; exit 5' INT; echo ready; while :; do sleep 0.02; done"), nil)
	s.started()
	s.said("ready\r\n")
	s.must(s.Send(link.Resize{T: "resize", ID: id, Rows: 30, Columns: 100}, nil))
	if text := s.said("\r\n"); text != "30 100\r\n" {
		t.Error(text)
	}
	if o := s.last(id, 1, "\x03", false); !o.exited(5) || !strings.Contains(string(o.stdout), "INT") {
		t.Error(o)
	}
	id = s.begin(onTerminal("cat"), nil)
	s.started()
	if code := s.write(id, 1, "line\n"); code != "" {
		t.Error(code)
	}
	s.said("line\r\nline\r\n") // the echo, and cat
	if o := s.last(id, 2, "", true); !o.exited(0) {
		t.Error(o)
	}
	c.mustBeEmpty()
}

func TestAReaderWritesNothing(t *testing.T) {
	s, _ := serve(t, options{})
	if s.info.LandlockABI < 3 {
		t.Skip("SKIPPED: needs Landlock with ABI 3")
	}
	s.run(command("sh", "-c", "mkdir -p /workspace/d; echo old > /workspace/f; chmod 644 /workspace/f; touch -d 2001-01-01 /workspace/f"))
	look := command("sh", "-c", "stat -c '%a %y' /workspace/f; cat /workspace/f; ls -A /workspace /tmp /dev/shm")
	before := s.run(look)
	for _, text := range []string{
		"echo new > /workspace/f", "echo new >> /workspace/f", "rm -f /workspace/f", "mv /workspace/f /workspace/g", "ln /workspace/f /workspace/g",
		"ln -s f /workspace/g", "mkdir /workspace/e", "rmdir /workspace/d", "mkfifo /workspace/p", "chmod 600 /workspace/f", "touch /workspace/f",
		"truncate -s 0 /workspace/f", "chattr +d /workspace/f", "setfattr -n user.a -v b /workspace/f", "chgrp 10001 /workspace/f",
		"echo new > /tmp/f", "echo new > /dev/shm/f", "python3 -c 'import os; os.utime(\"/workspace/f\")'",
		"python3 -c 'import fcntl,os; fcntl.fcntl(os.open(\"/workspace/f\",0),fcntl.F_SETLEASE,fcntl.F_RDLCK)'",
	} {
		job := command("sh", "-c", text)
		job.ReadOnly = true
		if o := s.run(job); o.exited(0) {
			t.Errorf("%q: %s", text, o)
		}
	}
	if after := s.run(look); !bytes.Equal(after.stdout, before.stdout) {
		t.Errorf("was %q, is %q", before.stdout, after.stdout)
	}
	job := command("sh", "-c", "cat /workspace/f; echo x > /dev/null; grep -r old /workspace | sort")
	job.ReadOnly = true
	if o := s.run(job); string(o.stdout) != "old\n/workspace/f:old\n" {
		t.Error(o)
	}
}

func TestScratchIsAllThatMayBeWritten(t *testing.T) {
	s, _ := serve(t, options{})
	if s.info.LandlockABI < 3 {
		t.Skip("SKIPPED: needs Landlock with ABI 3")
	}
	s.run(command("sh", "-c", "echo old > /workspace/f; chmod 644 /workspace/f"))
	look := command("sh", "-c", "stat -c '%a %y' /workspace/f; cat /workspace/f; ls -A /workspace")
	before := s.run(look)
	for text, may := range map[string]bool{
		"echo new > /workspace/f": false, "rm -f /workspace/f": false, "mkdir /workspace/e": false, "chmod 600 /workspace/f": false,
		"mv /tmp/scratch /workspace/g": false, "ln /workspace/f /tmp/f2": false,
		"echo new > /tmp/scratch": true, "mkdir -p /tmp/d/e; echo new > /tmp/d/e/f; rm -r /tmp/d": true, "echo new > /dev/shm/scratch": true,
	} {
		job := command("sh", "-c", text)
		job.ReadOnly, job.Scratch = true, true
		if o := s.run(job); o.exited(0) != may {
			t.Errorf("%q: %s", text, o)
		}
	}
	if after := s.run(look); !bytes.Equal(after.stdout, before.stdout) {
		t.Errorf("was %q, is %q", before.stdout, after.stdout)
	}
}

func TestATraceHasTheCommandsOfChildren(t *testing.T) {
	s, _ := serve(t, options{})
	if o := s.run(command("sh", "-c", "sleep 0.3; true")); len(o.Commands) != 0 {
		t.Errorf("not requested: %v", o.Commands)
	}
	// Long, as looks are seldom on a machine with many processes.
	job := command("sh", "-c", "(sleep 1.3; true) & sh -c 'sleep 1.2; true' one; sleep 1.1; wait")
	job.Trace = true
	o := s.run(job)
	var lines []string
	for _, seen := range o.Commands {
		lines = append(lines, strings.Join(seen.Argv, " "))
	}
	slices.Sort(lines)
	// The shell that was forked and executed nothing is none.
	want := []string{"sh -c sleep 1.2; true one", "sleep 1.1", "sleep 1.2", "sleep 1.3"}
	if !slices.Equal(lines, want) {
		t.Errorf("%q, not %q", lines, want)
	}
}

func TestATraceIsBoundedWhateverTheWordsAre(t *testing.T) {
	s, _ := serve(t, options{})
	// Each byte of the word is six in JSON.
	job := command("sh", "-c", `for i in $(seq 150); do sh -c 'sleep 1; true' "$1" & done; wait`, "sh", strings.Repeat("\x01<", 10_000))
	processes := 1000
	job.Trace, job.Limits.Processes = true, &processes
	o := s.run(job)
	if !o.exited(0) {
		t.Fatalf("%s", o)
	}
	size := 0
	for _, seen := range o.Commands {
		text, _ := json.Marshal(seen)
		size += len(text)
	}
	if size > link.MaxPart/2 || len(o.Commands) == 0 || len(o.Commands)+o.More < 150 {
		t.Errorf("%d commands of %d bytes, %d more", len(o.Commands), size, o.More)
	}
}

func TestAnInterruptReachesTheTree(t *testing.T) {
	s, _ := serve(t, options{})
	id := s.begin(command("sh", "-c", "trap 'echo INT; exit 4' INT; echo ready; while :; do sleep 0.02; done"), nil)
	s.started()
	s.said("ready\n")
	s.must(s.Send(link.ByID{T: "interrupt", ID: id}, nil))
	if o := s.finish(id)[id]; !o.exited(4) || string(o.stdout) != "INT\n" {
		t.Error(o)
	}
}
