package overlay

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"golang.org/x/sys/unix"
)

// TestMain runs the tests in a mount namespace of their own, as root of a user namespace where we are not root.
func TestMain(m *testing.M) {
	if os.Getenv("OVERLAY_TEST_INSIDE") == "" {
		self, _ := os.Executable()
		attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		if os.Getuid() != 0 {
			attr.Cloneflags |= syscall.CLONE_NEWUSER
			attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
		env := append(os.Environ(), "OVERLAY_TEST_INSIDE=1")
		p, err := os.StartProcess(self, os.Args, &os.ProcAttr{Env: env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: attr})
		if err != nil {
			println("no mount namespace, so nothing is tested here: " + err.Error())
			os.Exit(0)
		}
		state, err := p.Wait()
		if err != nil {
			os.Exit(1)
		}
		os.Exit(state.ExitCode())
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

type bed struct {
	t   *testing.T
	dir string
	m   *mounter
}

func newBed(t *testing.T) *bed {
	dir := t.TempDir()
	b := &bed{t, dir, newMounter([]byte(strings.Repeat("k", 32)))}
	b.mkdir("root")
	b.mkdir("base")
	t.Cleanup(func() {
		for unix.Unmount(filepath.Join(dir, "root"), unix.MNT_DETACH) == nil {
		}
	})
	return b
}

func (b *bed) mkdir(name string) string {
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bed) root(upper string, lower ...string) Root {
	r := Root{Target: filepath.Join(b.dir, "root"), Upper: b.mkdir(upper), Work: b.mkdir("work-" + upper)}
	for _, l := range lower {
		r.Lower = append(r.Lower, filepath.Join(b.dir, l))
	}
	return r
}

func (b *bed) switchTo(upper string, lower ...string) {
	b.t.Helper()
	if err, fatal := b.m.switchTo([]Root{b.root(upper, lower...)}); err != nil || fatal != nil {
		b.t.Fatal(err, fatal)
	}
}

func (b *bed) sh(script string) {
	b.t.Helper()
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-ec", script},
		&os.ProcAttr{Dir: filepath.Join(b.dir, "root"), Env: os.Environ(), Files: []*os.File{nil, os.Stdout, os.Stderr}})
	if err != nil {
		b.t.Fatal(err)
	}
	if state, err := p.Wait(); err != nil || !state.Success() {
		b.t.Fatalf("%s: %v %v", script, state, err)
	}
}

func TestASwitchFreezesAndARestoreMountsWhatWasFrozen(t *testing.T) {
	b := newBed(t)
	b.switchTo("1", "base")
	b.sh("echo one > f; mkdir d; echo x > d/x; ln -s f l")
	b.switchTo("2", "1", "base")
	b.sh("test $(cat f) = one; echo two > f; rm -r d; mkdir d; echo y > d/y; rm l")
	b.switchTo("3", "2", "1", "base")
	b.sh("test $(cat f) = two; test ! -e d/x; test -e d/y; test ! -L l")
	b.switchTo("4", "1", "base")
	b.sh("test $(cat f) = one; test -e d/x; test ! -e d/y; test $(readlink l) = f")
}

func TestAFrozenLayerCannotBeWrittenThroughWhatWasKeptOpen(t *testing.T) {
	b := newBed(t)
	b.switchTo("1", "base")
	b.sh("echo one > f")
	dir, err := os.Open(filepath.Join(b.dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	b.switchTo("2", "1", "base")
	fd, err := unix.Openat(int(dir.Fd()), "f", unix.O_WRONLY|unix.O_APPEND, 0)
	if err != unix.EROFS {
		t.Fatalf("the old tree is open for writing: %d %v", fd, err)
	}
}

func TestASwitchFailsWhileAFileIsOpenForWriting(t *testing.T) {
	b := newBed(t)
	b.switchTo("1", "base")
	f, err := os.Create(filepath.Join(b.dir, "root", "held"))
	if err != nil {
		t.Fatal(err)
	}
	if _, fatal := b.m.switchTo([]Root{b.root("2", "1", "base")}); fatal == nil {
		t.Fatal("a layer was frozen below an open file")
	}
	f.Close()
}

func TestNothingIsMountedWhenOneRootCannotBe(t *testing.T) {
	b := newBed(t)
	b.switchTo("1", "base")
	b.sh("echo one > f")
	bad := b.root("9", "missing")
	if err, fatal := b.m.switchTo([]Root{b.root("2", "base"), bad}); err == nil || fatal != nil {
		t.Fatal("expected a refusal:", err, fatal)
	}
	b.sh("test $(cat f) = one")
}

func TestAFlatLayerReadsAsTheStack(t *testing.T) {
	b := newBed(t)
	b.switchTo("1", "base")
	b.sh("mkdir -p keep gone opaque; echo a > keep/a; echo b > gone/b; echo c > opaque/c; chmod 2750 keep; touch -d @1.5 keep; ln -s keep l; mkfifo p; echo h > h1; ln h1 h2")
	b.switchTo("2", "1", "base")
	b.sh("rm -r gone; rm -r opaque; mkdir opaque; echo d > opaque/d; echo A > keep/a; touch -d @2.25 keep")
	b.switchTo("3", "2", "1", "base")
	flat := b.root("flat", "2", "1", "base")
	if err := Flatten([]Root{flat}); err != nil {
		t.Fatal(err)
	}
	b.switchTo("4", "flat")
	b.sh("test $(cat keep/a) = A; test ! -e gone; test ! -e opaque/c; test $(cat opaque/d) = d; test $(readlink l) = keep; test -p p")
	b.sh("test $(stat -c %a:%Y keep) = 2750:2; test $(stat -c %i h1) = $(stat -c %i h2)")
}

func TestMountsAreHandedToWhoHoldsTheKeyAlone(t *testing.T) {
	b := newBed(t)
	b.switchTo("1", "base")
	socket := filepath.Join(b.dir, "s")
	if err := b.m.listen(socket); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFollower(socket, []byte(strings.Repeat("x", 32))).Join(); err == nil {
		t.Fatal("a stranger got the mounts")
	}
	// A peer that skips our proof gets nothing either.
	dialled, err := link.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	stranger := &peer{file: dialled}
	defer stranger.close()
	stranger.deadline(joinTime)
	challenge, err := stranger.expect("challenge")
	if err != nil {
		t.Fatal(err)
	}
	nonce := link.NewNonce()
	mac := link.Mac([]byte(strings.Repeat("x", 32)), runnerText(challenge.Nonce, nonce))
	if err := stranger.send(line{T: "hello", Nonce: nonce, Mac: mac}); err != nil {
		t.Fatal(err)
	}
	if l, fds, err := stranger.receive(); err == nil {
		t.Fatalf("a stranger was answered: %v with %d descriptors", l, len(fds))
	}
	// In a new namespace, like the other container: only the thread changes, and it is discarded.
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
			result <- err
			return
		}
		f := NewFollower(socket, b.m.key)
		f.places[filepath.Join(b.dir, "root")] = true // inherited from the namespace it was copied from
		s, err := f.Join()
		if err == nil {
			s.Close()
		}
		result <- err
	}()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsStartedHasNoCapability(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.CreateTemp(t.TempDir(), "status")
	if err != nil {
		t.Fatal(err)
	}
	saved, err := unix.Dup(1)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Dup3(int(out.Fd()), 1, 0)
	pid, err := startPowerless([]string{"/bin/cat", "/proc/self/status"}, int(r.Fd()))
	_ = unix.Dup3(saved, 1, 0)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if code := await(pid); code != 0 {
		t.Fatal("exit", code)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		if !strings.Contains(string(text), set+":\t0000000000000000") {
			t.Fatalf("%s is not empty:\n%s", set, text)
		}
	}
	if proc.Powerless() && os.Getuid() == 0 {
		t.Fatal("this thread lost its own")
	}
}
