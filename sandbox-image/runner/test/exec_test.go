package test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"agentfleet.dev/runner/internal/link"
)

func TestInfoTellsWhatWasTried(t *testing.T) {
	s, _ := serve(t, options{})
	i := s.info
	if i.Dumpable || !i.NoNewPrivs || i.CapEff != "0000000000000000" || i.Version != "test" {
		t.Errorf("info: %+v", i)
	}
	if os.Getuid() == 0 && i.UserNamespace {
		t.Error("a user namespace")
	}
	if !i.Probe.SeccompDenies || !i.Probe.StoreAbsent || i.Probe.LandlockDenies != (i.LandlockABI > 0) || i.Probe.Error != "" {
		t.Errorf("probe: %+v with Landlock %d", i.Probe, i.LandlockABI)
	}
}

func TestAFreshContainerHasEmptyScratch(t *testing.T) {
	s, _ := serve(t, options{})
	if o := s.run(command("sh", "-c", "ls -A /tmp /dev/shm")); string(o.stdout) != "/dev/shm:\n\n/tmp:\n" {
		t.Error(o)
	}
}

func TestAContainerThatCannotBeEmptiedDoesNotServe(t *testing.T) {
	var exit *exec.ExitError
	if err := startContainer(t, newKeeper(t), options{stuck: true}).wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Error(err)
	}
}

func TestNoIPCObjectOutlivesItsCommand(t *testing.T) {
	s, _ := serve(t, options{})
	if o := s.run(command(helper, "try", "calls", "shmget", "semget", "msgget")); string(o.stdout) != "shmget=ok semget=ok msgget=ok " {
		t.Fatal(o)
	}
	// One heading in each list, and no line below it.
	if o := s.run(command("sh", "-c", "cat /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg | grep -vc key")); string(o.stdout) != "0\n" {
		t.Error(o)
	}
}

func TestEnvironmentIsExactlyTheFrames(t *testing.T) {
	s, _ := serve(t, options{})
	job := command("env", "-0")
	job.Env = map[string]string{"PATH": "/usr/bin:/bin", "A": "b=c\nd", "EMPTY": ""}
	o := s.run(job)
	got := strings.Split(strings.TrimSuffix(string(o.stdout), "\x00"), "\x00")
	if want := []string{"A=b=c\nd", "EMPTY=", "PATH=/usr/bin:/bin"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("env %q, want %q (%s)", got, want, o)
	}
}

func TestStdinIsTheBodyThenClosed(t *testing.T) {
	s, _ := serve(t, options{})
	body := bytes.Repeat([]byte("0123456789abcdef"), 64<<10) // 1 MiB
	job := command("cat")
	job.OutputLimitBytes = 2 << 20
	id := s.begin(job, body)
	o := s.finish(id)[id]
	if !bytes.Equal(o.stdout, body) || o.largest > link.MaxOut {
		t.Errorf("%d bytes back, largest frame %d: %s", len(o.stdout), o.largest, o)
	}
	if o := s.run(command("cat")); !o.exited(0) || o.frames != 0 {
		t.Errorf("empty input: %s", o)
	}
}

func TestCommandThatCannotStart(t *testing.T) {
	s, _ := serve(t, options{})
	setup := `printf '#!/no/such\n' > script; chmod 755 script; echo text > plain; echo text > noformat; chmod 755 noformat; mkdir d`
	if o := s.run(command("sh", "-c", setup)); !o.exited(0) {
		t.Fatal(o)
	}
	for _, c := range []struct {
		argv, cwd  string
		exit       int
		code, says string
	}{
		{"no-such-command", "/workspace", 127, "ENOENT", "PATH"},
		{"./absent", "/workspace", 127, "ENOENT", "does not exist"},
		{"./script", "/workspace", 127, "ENOENT", `interpreter "/no/such"`},
		{"./plain", "/workspace", 126, "EACCES", "not executable"},
		{"./noformat", "/workspace", 126, "ENOEXEC", "#!"},
		{"./d", "/workspace", 126, "EISDIR", "directory"},
		{"plain/x", "/workspace", 127, "ENOTDIR", "does not exist"},
		{"true", "/no/such/dir", 126, "ENOENT", "cwd"},
		{"true", "/workspace/plain", 126, "ENOTDIR", "cwd"},
		{"true", "workspace", 126, "EINVAL", "absolute"},
		{"/.agentfleet/bin/runner", "/workspace", 126, "EACCES", ""},
		{"", "/workspace", 127, "ENOENT", "empty"},
	} {
		job := command(c.argv)
		job.Cwd = c.cwd
		o := s.run(job)
		if !o.exited(c.exit) || o.Error == nil || o.Error.Code != c.code || !strings.Contains(o.Error.Message, c.says) || o.pid != 0 {
			t.Errorf("%q in %s: %s", c.argv, c.cwd, o)
		}
	}
	job := command("tool")
	job.Env = map[string]string{"PATH": "/nowhere:bin"}
	if o := s.run(command("sh", "-c", "mkdir bin && printf '#!/bin/sh\necho own' > bin/tool && chmod 755 bin/tool")); !o.exited(0) {
		t.Fatal(o)
	}
	if o := s.run(job); string(o.stdout) != "own\n" {
		t.Errorf("relative PATH entry: %s", o)
	}
}

func TestOutputFloodIsCountedNotKept(t *testing.T) {
	s, c := serve(t, options{})
	job := command("sh", "-c", "head -c 100000000 /dev/zero; echo end >&2")
	job.OutputLimitBytes = 1_000_000
	o := s.run(job)
	if !o.exited(0) || o.Bytes.Stdout != 100_000_000 || o.Bytes.Stderr != 4 ||
		o.Dropped.Stdout+o.Dropped.Stderr != 99_000_004 || len(o.stdout)+len(o.stderr) != 1_000_000 {
		t.Errorf("bytes %+v dropped %+v got %d: %s", o.Bytes, o.Dropped, len(o.stdout), o)
	}
	if rss := c.rss(); rss > 10<<20 {
		t.Errorf("the runner holds %d bytes after the flood", rss)
	}
}

func TestSlowKeeperHoldsTheCommandBack(t *testing.T) {
	s, c := serve(t, options{})
	job := command("sh", "-c", "head -c 50000000 /dev/zero")
	job.OutputLimitBytes = 1 << 40
	id := s.begin(job, nil)
	time.Sleep(300 * time.Millisecond)
	if rss := c.rss(); rss > 10<<20 {
		t.Errorf("the runner buffers: %d bytes", rss)
	}
	if o := s.finish(id)[id]; len(o.stdout) != 50_000_000 || o.Dropped.Stdout != 0 {
		t.Errorf("%d bytes came: %s", len(o.stdout), o)
	}
}

func TestAnswersBesideCommands(t *testing.T) {
	s, _ := serve(t, options{})
	job := command("sleep", "60")
	id := s.begin(job, nil)
	s.started()
	job.ID = id
	s.must(s.Send(job, nil))
	var e link.Error
	s.must(s.expect("error").Decode(&e))
	if e.Code != "EEXIST" || e.ID != id {
		t.Errorf("second exec: %+v", e)
	}
	s.must(s.Send(map[string]any{"t": "ping", "id": 42}, nil))
	if f := s.expect("pong"); !strings.Contains(string(f.Header), `"id":42`) {
		t.Errorf("pong %s", f.Header)
	}
	s.must(s.Send(map[string]any{"t": "nonsense"}, nil))
	s.must(s.expect("error").Decode(&e))
	job.ID, job.Network = "n", "Everywhere"
	s.must(s.Send(job, nil))
	s.must(s.expect("error").Decode(&e))
	if e.Code != "EINVAL" || e.ID != "n" {
		t.Errorf("unknown network: %+v", e)
	}
	s.must(s.Send(link.Kill{T: "kill", ID: id, Reason: "Cancelled"}, nil))
	if o := s.finish(id)[id]; !o.killedFor("Cancelled") || o.TimedOut || o.Signal == nil || *o.Signal != "SIGTERM" {
		t.Error(o)
	}
}
