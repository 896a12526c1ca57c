package test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// container is a running PID namespace whose PID 1 is the runner.
type container struct {
	tb   testing.TB
	cmd  *exec.Cmd
	done chan error
}

// options of a container.
type options struct {
	cgroup    string // controller=path, the init joins it; memory is also shown inside
	key       string
	binary    string // the runner, if not the usual one
	noTracing bool   // ptrace is refused, as by Yama scope 2
	stuck     bool   // a file in /tmp cannot be removed
}

// startContainer skips, with a message, where namespaces are not available.
func startContainer(tb testing.TB, k *keeper, o options) *container {
	tb.Helper()
	root, err := os.MkdirTemp("", "root-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(root) })
	if o.key == "" {
		o.key = key
	}
	if o.binary == "" {
		o.binary = runnerBinary
	}
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "container-init")
	cmd.Env = []string{
		"ROOT=" + root, "LINK_DIR=" + k.dir, "RUNNER=" + o.binary, "HELPER=" + self, "CGROUP=" + o.cgroup, fmt.Sprint("NO_TRACING=", o.noTracing), fmt.Sprint("STUCK=", o.stuck),
		"AGENTFLEET_LINK_KEY=" + o.key, "AGENTFLEET_LINK=/.agentfleet/link/keeper.sock", "OTHER=must not be inherited",
	}
	cmd.Stderr = os.Stderr
	// A new IPC namespace: the runner removes all objects in it.
	flags := uintptr(unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		tb.Skipf("SKIPPED: needs root or unprivileged user namespaces: %v", err)
	}
	c := &container{tb, cmd, make(chan error, 1)}
	go func() { c.done <- cmd.Wait() }()
	tb.Cleanup(func() { _ = cmd.Process.Kill(); c.wait() })
	return c
}

func (c *container) wait() error {
	select {
	case err := <-c.done:
		c.done <- err
		return err
	case <-time.After(10 * time.Second):
		c.tb.Fatal("the container does not end")
		return nil
	}
}

// serve is a keeper, a container and a link between them.
func serve(tb testing.TB, o options) (*session, *container) {
	tb.Helper()
	k := newKeeper(tb)
	c := startContainer(tb, k, o)
	accepted := make(chan struct{})
	go func() {
		select {
		case err := <-c.done:
			c.done <- err
			k.listener.Close() // else accept would wait for ever
		case <-accepted:
		}
	}()
	conn := k.accept()
	close(accepted)
	return k.welcome(conn, key), c
}

// alive lists the living processes of commands in the container.
func (c *container) alive() (found []string) {
	for _, line := range c.all() {
		// The spare supervisor is allowed, also while it is forked or ends.
		if _, name, _ := strings.Cut(line, " "); !strings.HasPrefix(name, "runner s") && name != "(exe)" && name != "(runner)" {
			found = append(found, line)
		}
	}
	return found
}

// all lists every living process but PID 1, as "pid command line".
func (c *container) all() (found []string) {
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", c.cmd.Process.Pid))
	if err != nil {
		return nil
	}
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range names {
		if ns, err := os.Readlink(dir + "/ns/pid"); err != nil || ns != space {
			continue
		}
		stat, _ := os.ReadFile(dir + "/stat")
		line, _ := os.ReadFile(dir + "/cmdline")
		// Vanished, waiting to be reaped, or being reaped; a process lives while one of its threads does.
		fields := strings.Fields(string(stat[max(bytes.LastIndexByte(stat, ')')+1, 0):]))
		gone := len(fields) < 18 || ((fields[0] == "Z" || fields[0] == "X") && (fields[17] == "0" || fields[17] == "1"))
		if gone || filepath.Base(dir) == strconv.Itoa(c.cmd.Process.Pid) {
			continue
		}
		name := strings.ReplaceAll(string(line), "\x00", " ")
		if name == "" { // it is about to end: memory gone, not yet a zombie
			i, j := strings.IndexByte(string(stat), '('), strings.LastIndexByte(string(stat), ')')
			name = string(stat[max(i, 0):max(i, j+1, 0)])
		}
		found = append(found, filepath.Base(dir)+" "+name)
	}
	return found
}

// mustBeEmpty is checked right after an end: no waiting.
func (c *container) mustBeEmpty() {
	c.tb.Helper()
	if left := c.alive(); len(left) > 0 {
		c.tb.Errorf("%d processes outlived the end: %.500q", len(left), left)
	}
}

// containerInit builds the file system and becomes the runner.
func containerInit() {
	fail := func(what string, err error) {
		if err != nil {
			fmt.Fprintf(os.Stderr, "container-init: %s: %v\n", what, err)
			os.Exit(125)
		}
	}
	root := os.Getenv("ROOT")
	if _, path, ok := strings.Cut(os.Getenv("CGROUP"), "="); ok {
		fail("cgroup", os.WriteFile(path+"/cgroup.procs", []byte("0"), 0))
	}
	fail("private", unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""))
	fail("root", unix.Mount("tmpfs", root, "tmpfs", 0, "mode=755"))
	fail("image", bindImage(root))
	fail("own", bindOwn(root))
	if kind, path, ok := strings.Cut(os.Getenv("CGROUP"), "="); ok && kind == "memory" {
		fail("memory", unix.Mount(path, root+"/sys/fs/cgroup/memory", "", unix.MS_BIND, ""))
	}
	fail("mkdir", os.Mkdir(root+"/.old", 0o700))
	fail("pivot", unix.PivotRoot(root, root+"/.old"))
	fail("chdir", os.Chdir("/"))
	fail("umount", unix.Unmount("/.old", unix.MNT_DETACH))
	fail("rmdir", os.Remove("/.old"))
	fail("drop", drop())
	if os.Getenv("NO_TRACING") == "true" {
		fail("tracing", refuse(unix.SYS_PTRACE))
	}
	fail("exec", unix.Exec("/.agentfleet/bin/runner", []string{"runner", "serve"}, os.Environ()))
}

func bindImage(root string) error {
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	skip := []string{"proc", "tmp", "workspace", ".agentfleet", "opt-test", "root", "home", "mnt", "work"}
	for _, e := range entries {
		from, to := "/"+e.Name(), root+"/"+e.Name()
		target, err := os.Readlink(from)
		switch {
		case slices.Contains(skip, e.Name()):
		case err == nil:
			if err := os.Symlink(target, to); err != nil {
				return err
			}
		case e.IsDir():
			if err := bind(from, to, unix.MS_REC); err != nil {
				return err
			}
		}
	}
	return nil
}

func bind(from, to string, flags uintptr) error {
	st, err := os.Stat(from)
	if err != nil {
		return err
	}
	if st.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else {
		err = os.WriteFile(to, nil, 0o755)
	}
	if err != nil {
		return err
	}
	return unix.Mount(from, to, "", unix.MS_BIND|flags, "")
}

// leftover is the content that an earlier container of the pod left in its scratch folders.
const leftover = "/left/over"

func bindOwn(root string) error {
	for _, d := range []string{"/proc", "/tmp", "/workspace", "/.agentfleet", "/.agentfleet/bin", "/opt-test", "/writable-by-mode"} {
		if err := os.MkdirAll(root+d, 0o755); err != nil {
			return err
		}
	}
	// The runner empties /tmp and /dev/shm: this machine's must not be in reach.
	for _, d := range []string{"/tmp", "/dev/shm", "/workspace", "/writable-by-mode"} {
		if err := unix.Mount("tmpfs", root+d, "tmpfs", 0, "mode=1777"); err != nil {
			return err
		}
	}
	if os.Getenv("STUCK") == "true" {
		if err := bind("/etc/passwd", root+"/tmp/stuck", 0); err != nil {
			return err
		}
	}
	for _, d := range []string{"/tmp", "/dev/shm"} {
		if err := os.MkdirAll(root+d+leftover, 0o755); err != nil {
			return err
		}
		if !mapsAllIDs() {
			continue // everything is this uid's
		}
		for _, p := range []string{leftover, filepath.Dir(leftover)} {
			if err := os.Chown(root+d+p, 10001, 10001); err != nil {
				return err
			}
		}
	}
	if os.Getenv("STUCK") == "true" {
		if err := unix.Mount("tmpfs", root+"/tmp"+leftover, "tmpfs", 0, ""); err != nil {
			return err
		}
	}
	if err := unix.Mount("proc", root+"/proc", "proc", 0, ""); err != nil {
		return err
	}
	for from, to := range map[string]string{
		os.Getenv("RUNNER"): "/.agentfleet/bin/runner", os.Getenv("LINK_DIR"): "/.agentfleet/link", os.Getenv("HELPER"): helper,
	} {
		if err := bind(from, root+to, 0); err != nil {
			return err
		}
	}
	return nil
}

// drop takes root away as the kubelet does.
func drop() error {
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL {
			return err
		}
	}
	if os.Getenv("ROOT") != "" && mapsAllIDs() {
		if err := syscall.Setgroups(nil); err != nil {
			return err
		}
		if err := syscall.Setgid(10001); err != nil {
			return err
		}
		if err := syscall.Setuid(10001); err != nil {
			return err
		}
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

func mapsAllIDs() bool {
	m, _ := os.ReadFile("/proc/self/uid_map")
	return strings.Contains(string(m), "4294967295")
}
