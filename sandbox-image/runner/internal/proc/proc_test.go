package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestStatWithABracketInTheName(t *testing.T) {
	line := "17 (a) R 1 (b)) S 5 17 16 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0"
	p, ok := parseStat([]byte(line))
	if !ok || p.PID != 17 || p.State != 'S' || p.Parent != 5 || p.Group != 17 || p.Threads != 1 || p.Start != 12345 {
		t.Errorf("%+v %v", p, ok)
	}
	for _, bad := range []string{"", "x", "1 (a", "1 (a) S 1"} {
		if _, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestBelowFollowsAncestryAndExceptions(t *testing.T) {
	all := map[int]Process{}
	for _, p := range []Process{
		{PID: 1, State: 'S'}, {PID: 2, Parent: 1, State: 'S'}, {PID: 3, Parent: 2, State: 'R'}, {PID: 4, Parent: 3, State: 'Z', Threads: 1},
		{PID: 5, Parent: 1, State: 'S'}, {PID: 6, Parent: 5, State: 'S'}, {PID: 7, Parent: 0, State: 'S'},
		// Its first thread has ended, another one lives.
		{PID: 10, Parent: 6, State: 'Z', Threads: 2},
		// A scan is no snapshot: reused pids can make a circle.
		{PID: 8, Parent: 9, State: 'S'}, {PID: 9, Parent: 8, State: 'S'},
	} {
		all[p.PID] = p
	}
	sum := func(ps []Process) (n int) {
		for _, p := range ps {
			n += p.PID
		}
		return n
	}
	if n := sum(Below(all, 1, nil)); n != 2+3+5+6+10 {
		t.Errorf("below 1: %d", n)
	}
	if n := sum(Below(all, 1, map[int]bool{2: true})); n != 5+6+10 {
		t.Errorf("without 2: %d", n)
	}
	if n := sum(Below(all, 5, nil)); n != 6+10 {
		t.Errorf("below 5: %d", n)
	}
}

func TestScanFindsAChild(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	all, err := NewReader().Scan()
	if err != nil || all[cmd.Process.Pid].Parent != os.Getpid() {
		t.Errorf("%+v %v", all[cmd.Process.Pid], err)
	}
	found := Below(all, os.Getpid(), nil)
	if len(found) != 1 || found[0].PID != cmd.Process.Pid {
		t.Errorf("%+v", found)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOOMCounters(t *testing.T) {
	v2 := t.TempDir()
	write(t, v2+"/memory.events", "low 0\nhigh 1\nmax 5\noom 3\noom_kill 2\noom_group_kill 0\n")
	c := OOMKills(v2)
	if c == nil || *c != 2 {
		t.Errorf("v2: %+v", c)
	}
	v1 := t.TempDir()
	write(t, v1+"/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n")
	d := OOMKills(v1)
	if d == nil || *d != 4 {
		t.Errorf("v1: %+v", d)
	}
	none := OOMKills(t.TempDir())
	if none != nil || OOMHappened(none, none) != nil || OOMHappened(c, none) != nil {
		t.Errorf("none: %+v", none)
	}
	if y := OOMHappened(c, d); y == nil || !*y {
		t.Error("2 → 4 is an OOM kill")
	}
	if y := OOMHappened(c, c); y == nil || *y {
		t.Error("2 → 2 is none")
	}
}

func threads(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestParkedThreadsStay(t *testing.T) {
	ParkThreads(12)
	before := threads(t)
	if before < 12 {
		t.Fatalf("%d threads", before)
	}
	for range 10 { // as many blocking calls as threads in stock need no new one
		go func() { runtime.LockOSThread(); time.Sleep(50 * time.Millisecond); runtime.UnlockOSThread() }()
	}
	time.Sleep(100 * time.Millisecond)
	// The runtime starts a few threads of its own at any time (collector, template thread).
	if after := threads(t); after > before+3 {
		t.Errorf("%d threads became %d", before, after)
	}
}
