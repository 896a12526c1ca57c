package test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentfleet.dev/runner/internal/link"
)

func TestKeyMustBeThereAndLong(t *testing.T) {
	for _, env := range [][]string{nil, {"AGENTFLEET_LINK_KEY=short"}} {
		cmd := exec.Command(runnerBinary, "serve")
		cmd.Env = append([]string{"PATH=/bin"}, env...)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "at least 32") {
			t.Errorf("%v: %v %s", env, err, out)
		}
	}
}

// closedBy waits for the runner to close c.
func closedBy(t *testing.T, c net.Conn, limit time.Duration) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(limit))
	if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the runner did not close the link in %v: %v", limit, err)
	}
}

func TestBadPeersAreLeft(t *testing.T) {
	k := newKeeper(t)
	startContainer(t, k, options{})

	mute := k.accept()
	began := time.Now()
	closedBy(t, mute, 5*time.Second)
	if d := time.Since(began); d < 2*time.Second || d > 4*time.Second {
		t.Errorf("a mute keeper was left after %v, want 3 s", d)
	}

	large := k.accept()
	var sizes [8]byte
	binary.BigEndian.PutUint32(sizes[:], link.MaxPart+1)
	_, _ = large.Write(sizes[:])
	closedBy(t, large, time.Second)

	wrong := k.accept()
	lc := link.NewConn(wrong)
	_ = lc.Send(map[string]any{"t": "challenge", "v": 1, "nonce": link.NewNonce()}, nil)
	if f, err := lc.Receive(); err != nil || f.T != "hello" {
		t.Fatal(f, err)
	}
	_ = lc.Send(map[string]any{"t": "welcome", "mac": strings.Repeat("0", 64)}, nil)
	closedBy(t, wrong, time.Second)

	short := k.accept()
	_ = link.NewConn(short).Send(map[string]any{"t": "challenge", "v": 1, "nonce": "AAAA"}, nil)
	closedBy(t, short, time.Second)

	s := k.welcome(k.accept(), key)
	if o := s.run(command("echo", "in the end")); string(o.stdout) != "in the end\n" {
		t.Error(o)
	}
	_, _ = s.conn.Write([]byte("\x00\x00\x00\x02\x00\x00\x00\x00[]"))
	closedBy(t, s.conn, time.Second)
	k.welcome(k.accept(), key)
}

func TestLinkLossKillsEverything(t *testing.T) {
	k := newKeeper(t)
	c := startContainer(t, k, options{})
	s := k.welcome(k.accept(), key)
	for range 3 {
		s.begin(command("sh", "-c", helper+" try daemon 1; trap '' TERM; yes; sleep 60"), nil)
	}
	for began := time.Now(); len(c.alive()) < 6; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("not running: %q", c.alive())
		}
	}
	s.conn.Close()
	again := k.welcome(k.accept(), key)
	c.mustBeEmpty()
	if o := again.run(command("echo", "new")); string(o.stdout) != "new\n" {
		t.Error(o)
	}
}

func TestExitFrameEndsTheContainer(t *testing.T) {
	s, c := serve(t, options{})
	s.begin(command("sh", "-c", "trap '' TERM; sleep 60"), nil)
	s.started()
	s.must(s.Send(map[string]any{"t": "exit", "code": 7}, nil))
	if err, ok := c.wait().(*exec.ExitError); !ok || err.ExitCode() != 7 {
		t.Errorf("ended with %v", err)
	}
}

func TestTermEndsTheContainerQuickly(t *testing.T) {
	s, c := serve(t, options{})
	s.begin(command("sh", "-c", "trap '' TERM; sleep 60"), nil)
	s.started()
	began := time.Now()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.wait(); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("took %v", d)
	}
}

// bytesOf is one frame as it goes over the link.
func bytesOf(header any) []byte {
	text, _ := json.Marshal(header)
	all := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	return append(binary.BigEndian.AppendUint32(all, 0), text...)
}

func TestAKillRightBehindItsCommandCancelsIt(t *testing.T) {
	s, _ := serve(t, options{})
	for i := range 20 {
		job := command("sleep", "60")
		job.ID = fmt.Sprint("k", i)
		kill := link.Kill{T: "kill", ID: job.ID, Reason: "Cancelled"}
		_, err := s.conn.Write(append(bytesOf(job), bytesOf(kill)...))
		s.must(err)
		if o := s.finish(job.ID)[job.ID]; o.Killed == nil || *o.Killed != "Cancelled" || o.Error != nil {
			t.Fatal(o)
		}
	}
}
