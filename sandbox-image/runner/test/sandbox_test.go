package test

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"agentfleet.dev/runner/internal/link"
)

func TestLandlockDeniesByTrying(t *testing.T) {
	s, c := serve(t, options{})
	if s.info.LandlockABI < 2 {
		t.Skip("SKIPPED: needs Landlock ABI 2")
	}
	for what, want := range map[string]string{
		"read:/":                       "ok", // names may be listed everywhere
		"read:/.agentfleet":            "ok",
		"read:/.agentfleet/bin/runner": "EACCES",
		"read:/proc/self/root/.agentfleet/bin/runner": "EACCES",
		"create:/.agentfleet/bin/x":                   "EACCES",
		"create:/writable-by-mode/x":                  "EACCES",
		"mkdir:/writable-by-mode/d":                   "EACCES",
		"write:/proc/self/oom_score_adj":              "EACCES",
		"read:/etc/passwd":                            "ok",
		"read:/proc/self/status":                      "ok",
		"write:/dev/null":                             "ok",
		"read:/dev/urandom":                           "ok",
		"create:/tmp/x":                               "ok",
		"create:/workspace/x":                         "ok",
		"write:/proc/self/fd/1":                       "ok",
	} {
		if o := s.run(command(helper, "try", "calls", what)); string(o.stdout) != what+"="+want+" " {
			t.Errorf("%s, want %s (%s)", o.stdout, want, o)
		}
	}
	o := s.run(command("sh", "-c", "mkdir -p a b && echo 1 > a/f && mv a/f b/g && ln b/g a/h && rm -r a && : > b/g && cat b/g"))
	if !o.exited(0) {
		t.Errorf("inside a writable path: %s", o)
	}
	c.mustBeEmpty()
}

func TestWritablePathCannotOpenTheRunnersFolder(t *testing.T) {
	s, _ := serve(t, options{})
	if o := s.run(command("sh", "-c", "ln -s / root; ln -s /.agentfleet private; ln -s /.agentfleet/link link")); !o.exited(0) {
		t.Fatal(o)
	}
	for _, p := range []string{"/", "/.agentfleet", "/workspace/root", "/workspace/private", "/workspace/link"} {
		job := command("true")
		job.Writable = []string{p}
		if o := s.run(job); !o.exited(126) || o.Error == nil {
			t.Errorf("%s: %s", p, o)
		}
	}
	job := command("true")
	job.Writable = []string{"/workspace/not-there"}
	if o := s.run(job); !o.exited(0) {
		t.Error(o)
	}
}

func TestSeccompDeniesByTrying(t *testing.T) {
	s, _ := serve(t, options{})
	calls := make([]string, 0, len(numbers))
	for name := range numbers {
		if name != "clone3" {
			calls = append(calls, name)
		}
	}
	calls = append(calls, "clone_newuser", "clone_newpid", "tiocsti")
	if runtime.GOARCH == "amd64" {
		calls = append(calls, "x32")
	}
	o := s.run(command(append([]string{helper, "try", "calls"}, calls...)...))
	if got := strings.Fields(string(o.stdout)); len(got) != len(calls) {
		t.Fatalf("%d of %d calls: %s", len(got), len(calls), o)
	}
	for _, r := range strings.Fields(string(o.stdout)) {
		if !strings.HasSuffix(r, "=EPERM") {
			t.Errorf("%s, want EPERM", r)
		}
	}
	o = s.run(command(helper, "try", "calls", "clone3", "tcgets", "socket:17", "socket:38", "socket:40", "netlink:0", "netlink:9"))
	want := "clone3=ENOSYS tcgets=EBADF socket:17=EAFNOSUPPORT socket:38=EAFNOSUPPORT socket:40=EAFNOSUPPORT netlink:0=ok netlink:9=EAFNOSUPPORT "
	if string(o.stdout) != want {
		t.Errorf("got  %s\nwant %s", o.stdout, want)
	}
}

func TestNetworkModes(t *testing.T) {
	s, _ := serve(t, options{})
	job := command(helper, "try", "net")
	if o := s.run(job); string(o.stdout) != "ok ok EAFNOSUPPORT EPROTONOSUPPORT ok" {
		t.Errorf("Loopback: %s", o)
	}
	job.Network = "None"
	if o := s.run(job); string(o.stdout) != "EPERM EPERM EAFNOSUPPORT EPERM ok" {
		t.Errorf("None: %s", o)
	}
}

func TestLimitsReachTheCommand(t *testing.T) {
	s, c := serve(t, options{})
	// The data limit becomes hard a moment after the start, see WithLimits.
	job := command("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do [ \"$(ulimit -Hd)\" = unlimited ] || break; sleep 0.1; done; ulimit -c; ulimit -t; ulimit -f; ulimit -n; ulimit -d; ulimit -Hd; cat /proc/self/oom_score_adj")
	cpu, file, open, data := uint64(7), uint64(1<<20), uint64(200), uint64(256<<20)
	job.Limits.CPUSeconds, job.Limits.FileSizeBytes, job.Limits.OpenFiles, job.Limits.DataBytes = &cpu, &file, &open, &data
	if o := s.run(job); string(o.stdout) != "0\n7\n2048\n200\n262144\n262144\n1000\n" {
		t.Errorf("limits: %s", o)
	}
	one := uint64(1)
	job = command("sh", "-c", "while :; do :; done")
	job.Limits.CPUSeconds = &one
	if o := s.run(job); o.Signal == nil || *o.Signal != "SIGXCPU" || o.CPUMs < 500 || o.CPUMs > 2500 {
		t.Errorf("cpu %d ms: %s", o.CPUMs, o)
	}
	// A supervisor lives as long as its command, and its looks at /proc are no time of that.
	job = command("sleep", "60")
	job.Limits.CPUSeconds = &one
	id := s.begin(job, nil)
	s.started()
	for _, line := range c.all() {
		if pid, name, _ := strings.Cut(line, " "); strings.HasPrefix(name, "sleep 60") {
			limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", parentOf(pid)))
			if err != nil || !regexp.MustCompile(`(?m)^Max cpu time +unlimited +unlimited `).Match(limits) {
				t.Errorf("the supervisor's own: %v %s", err, limits)
			}
		}
	}
	s.must(s.Send(link.Kill{T: "kill", ID: id, Reason: "Cancelled"}, nil))
	s.finish(id)
	job = command(helper, "try", "eat")
	job.Limits.DataBytes = &data
	if o := s.run(job); string(o.stdout) != "ENOMEM\n" || o.MaxRSSBytes < 100<<20 || o.MaxRSSBytes > 300<<20 {
		t.Errorf("rss %d: %s", o.MaxRSSBytes, o)
	}
}
