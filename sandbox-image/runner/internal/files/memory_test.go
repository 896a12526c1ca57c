package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asker asks for the same tree again and again, as the keeper does.
type asker struct {
	t      *testing.T
	memory *Memory
	root   string
	since  string
}

func (a *asker) ask() (whole bool, names string) {
	a.t.Helper()
	var out, errs bytes.Buffer
	if code := a.memory.Stat(a.root, 1000, a.since, &out, &errs); code != 0 {
		a.t.Fatalf("exit %d: %s", code, errs.String())
	}
	since, whole, records := take(a.t, out.Bytes())
	a.since = since
	// Sizes and modes are checked by another test.
	lines := regexp.MustCompile(` \d+ \d+(\*?)(\n|$)`).ReplaceAllString(decoded(a.t, records), "$1$2")
	return whole, strings.ReplaceAll(lines, "\n", " ")
}

// grow makes folders with two files each.
func grow(t *testing.T, root string, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		if err := os.MkdirAll(root+"/"+folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"f", "g"} {
			if err := os.WriteFile(root+"/"+folder+"/"+name, []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// late is a clock for which all that the test does was long ago.
func late() *Memory {
	m := NewMemory()
	m.now = func() time.Time { return time.Now().Add(time.Hour) }
	return m
}

// tick waits until the kernel stamps a change with another time than the last one.
func tick(t *testing.T) {
	t.Helper()
	probe := t.TempDir() + "/probe"
	stamp := func() unix.Timespec {
		var st unix.Stat_t
		if err := errors.Join(os.WriteFile(probe, nil, 0o600), unix.Stat(probe, &st)); err != nil {
			t.Fatal(err)
		}
		return st.Ctim
	}
	for first := stamp(); stamp() == first; {
	}
}

func TestChangesAreTold(t *testing.T) {
	root := t.TempDir()
	grow(t, root, "a/b", "c/d", "e")
	a := &asker{t, late(), root, "-"}
	if whole, names := a.ask(); !whole || strings.Count(names, " ") != 21 {
		t.Fatalf("at first: %v %s", whole, names)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) func() {
		return func() { must(os.WriteFile(root+"/"+path, []byte(text), 0o644)) }
	}
	for _, step := range []struct {
		does string
		act  func()
		want string
	}{
		{"nothing", func() {}, ""},
		{"a file written", write("a/b/f", "other"), `1 "a" 2 "b" 3 "f"`},
		{"one of the same length written", write("c/d/g", "G"), `1 "c" 2 "d" 3 "g"`},
		{"a mode", func() { must(os.Chmod(root+"/e/f", 0o600)) }, `1 "e" 2 "f"`},
		{"a new name", write("e/a", ""), `1 "e" 2 "a"`},
		{"a name gone", func() { must(os.Remove(root + "/e/f")) }, `1 "e"`},
		{"a folder that moved", func() { must(os.Rename(root+"/a/b", root+"/e/b")) }, `1 "a" 1 "e" 2 "b" 3 "f" 3 "g"`},
		{"a folder in the place of a file", func() { must(os.Remove(root + "/e/g")); must(os.Mkdir(root+"/e/g", 0o755)) }, `1 "e" 2 "g"`},
		{"a file in it", write("e/g/new", ""), `1 "e" 2 "g" 3 "new"`},
		{"a file in the place of a folder", func() { must(os.RemoveAll(root + "/e/g")); write("e/g", "")() }, `1 "e" 2 "g"`},
		{"a further name", func() { must(os.Link(root+"/c/d/f", root+"/c/d/h")) }, `1 "c" 2 "d" 3 "f" 3 "h"`},
		{"nothing again", func() {}, ""},
	} {
		tick(t)
		step.act()
		if whole, names := a.ask(); whole || names != step.want {
			t.Errorf("%s: %v %s, want %s", step.does, whole, names, step.want)
		}
	}
}

func TestWhoKnowsAnotherAnswerIsToldAll(t *testing.T) {
	root := t.TempDir()
	grow(t, root, "a")
	a := &asker{t, late(), root, "-"}
	a.ask()
	first := a.since
	if whole, _ := a.ask(); whole {
		t.Error("a complete answer was followed by a complete one")
	}
	for name, since := range map[string]string{"an older one": first, "none": "-", "that of no answer": strings.Repeat("0", 32)} {
		a.since = since
		if whole, names := a.ask(); !whole || strings.Count(names, " ") != 5 {
			t.Errorf("%s: %v %s", name, whole, names)
		}
	}
	var errs bytes.Buffer
	if code := a.memory.Stat(root, 2, a.since, io.Discard, &errs); code != 1 {
		t.Errorf("over the limit: exit %d", code)
	}
	if whole, _ := a.ask(); !whole {
		t.Error("an answer that was cut off is used")
	}
}

func TestANameThatCameInTheSameTickIsTold(t *testing.T) {
	root := t.TempDir()
	grow(t, root, "a")
	a := &asker{t, late(), root, "-"}
	a.ask()
	top := a.memory.tree(root).top
	folder := top.entries[0].folder
	if !top.sure || !folder.sure {
		t.Fatal("old folders are not believed")
	}
	tick(t)
	// As if the kernel's clock had stopped: the folder looks as when its names were read.
	a.memory.now = time.Now
	if err := os.WriteFile(root+"/a/new", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.ask()
	if folder = top.entries[0].folder; folder.sure {
		t.Fatal("a folder that has just changed is believed")
	}
	folder.entries = folder.entries[:2]
	if _, names := a.ask(); !strings.Contains(names, `2 "new"`) {
		t.Errorf("reported %s", names)
	}
}

func TestWhatIsClosedIsToldToBeUnknown(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	root := t.TempDir()
	grow(t, root, "a/b", "c")
	a := &asker{t, late(), root, "-"}
	a.ask()
	for _, step := range []struct {
		mode os.FileMode
		want string
	}{
		{0o000, `1 "a"*`},
		{0o000, `1 "a"*`},
		// Names can be read, but not stat'ed.
		{0o400, `1 "a"*`},
		{0o755, `1 "a" 2 "b" 3 "f" 3 "g"`},
		{0o755, ``},
	} {
		if st, err := os.Stat(root + "/a"); err != nil || st.Mode().Perm() != step.mode {
			tick(t)
			if err := errors.Join(err, os.Chmod(root+"/a", step.mode)); err != nil {
				t.Fatal(err)
			}
		}
		if whole, names := a.ask(); whole || names != step.want {
			t.Errorf("%o: %v %s, want %s", step.mode, whole, names, step.want)
		}
	}
	if err := os.Chmod(root, 0o000); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(root, 0o755)
	if whole, names := a.ask(); !whole || names != "" {
		t.Errorf("a closed root: %v %s", whole, names)
	}
}

// asNobody runs the test once more in a process for which modes count.
func asNobody(t *testing.T) {
	t.Helper()
	folder, err := os.MkdirTemp("", "nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(folder+"/test", self, 0o755), os.Chmod(folder, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	again := exec.Command(folder+"/test", "-test.run=^"+t.Name()+"$", "-test.v")
	again.Dir, again.Env = "/", []string{"TMPDIR=" + os.TempDir()}
	again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if said, err := again.CombinedOutput(); err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, said)
	}
}

func BenchmarkStat(b *testing.B) {
	root := b.TempDir()
	for i := range 10_000 {
		folder := fmt.Sprintf("%s/d%d/e%d", root, i%20, i/20%10)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(fmt.Sprintf("%s/f%d.txt", folder, i), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for _, remembers := range []bool{false, true} {
		b.Run(fmt.Sprintf("remembers=%v", remembers), func(b *testing.B) {
			memory, since := late(), "-"
			before := cpu()
			for b.Loop() {
				var out bytes.Buffer
				if memory.Stat(root, 100_000, since, &out, io.Discard) != 0 {
					b.Fatal("no stats")
				}
				if remembers {
					since = fmt.Sprintf("%x", out.Bytes()[:tokenBytes])
				}
			}
			b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpu is the CPU time of this process.
func cpu() time.Duration {
	var use unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
