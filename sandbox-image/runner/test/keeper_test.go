package test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agentfleet.dev/runner/internal/link"
)

const key = "0123456789abcdef0123456789abcdef"

// keeper is a fake of the trusted side.
type keeper struct {
	tb       testing.TB
	dir      string
	listener net.Listener
}

func newKeeper(tb testing.TB) *keeper {
	tb.Helper()
	dir, err := os.MkdirTemp("", "link-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "keeper.sock"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	for path, mode := range map[string]os.FileMode{dir: 0o755, filepath.Join(dir, "keeper.sock"): 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			tb.Fatal(err)
		}
	}
	return &keeper{tb, dir, l}
}

// accept waits for the runner and does not answer yet.
func (k *keeper) accept() net.Conn {
	k.tb.Helper()
	_ = k.listener.(*net.UnixListener).SetDeadline(time.Now().Add(10 * time.Second))
	c, err := k.listener.Accept()
	if err != nil {
		k.tb.Fatal("no runner dialled: ", err)
	}
	_ = c.SetDeadline(time.Now().Add(5 * time.Minute)) // for a whole session: machines under load are slow, not wrong
	k.tb.Cleanup(func() { c.Close() })
	return c
}

// session is a link that went through the handshake.
type session struct {
	tb   testing.TB
	conn net.Conn
	*link.Conn
	info link.Info
	next int
	// early is output that overtook an answer to input.
	early []byte
}

type hello struct {
	Nonce, Instance, Mac string
}

// welcome performs the handshake with key.
func (k *keeper) welcome(c net.Conn, key string) *session {
	k.tb.Helper()
	s := &session{tb: k.tb, conn: c, Conn: link.NewConn(c)}
	nonce := link.NewNonce()
	s.must(s.Send(map[string]any{"t": "challenge", "v": 1, "nonce": nonce}, nil))
	var h hello
	s.must(s.expect("hello").Decode(&h))
	if h.Mac != link.Mac([]byte(key), link.RunnerText(nonce, h.Nonce, h.Instance)) {
		k.tb.Fatal("the runner's mac is wrong")
	}
	s.must(s.Send(map[string]any{"t": "welcome", "mac": link.Mac([]byte(key), link.KeeperText(h.Nonce, nonce))}, nil))
	s.must(s.expect("info").Decode(&s.info))
	return s
}

func (s *session) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}

func (s *session) expect(t string) link.Frame {
	s.tb.Helper()
	f, err := s.Receive()
	s.must(err)
	if f.T != t {
		s.tb.Fatalf("%s instead of %s", f.Header, t)
	}
	return f
}

// outcome is the runner's complete report of one command.
type outcome struct {
	link.End
	pid            int
	stdout, stderr []byte
	frames         int
	largest        int
}

// command is an exec with the defaults of the tests.
func command(argv ...string) link.Exec {
	return link.Exec{
		T: "exec", Argv: argv, Env: map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"}, Cwd: "/workspace",
		TimeoutMs: 20_000, GraceMs: 200, Writable: []string{"/workspace"}, Network: "Loopback", OutputLimitBytes: 1 << 20,
	}
}

// begin sends the command and returns its id.
func (s *session) begin(job link.Exec, stdin []byte) string {
	s.tb.Helper()
	s.next++
	job.ID = fmt.Sprint("c", s.next)
	s.must(s.Send(job, stdin))
	return job.ID
}

// finish collects frames until all ids ended.
func (s *session) finish(ids ...string) map[string]*outcome {
	s.tb.Helper()
	all := map[string]*outcome{}
	for _, id := range ids {
		all[id] = &outcome{}
	}
	for left := len(ids); left > 0; {
		f, err := s.Receive()
		s.must(err)
		var head struct {
			ID     string
			PID    int
			Stream string
		}
		s.must(f.Decode(&head))
		o := all[head.ID]
		if o == nil {
			s.tb.Fatalf("frame of nobody: %s", f.Header)
		}
		switch f.T {
		case "start":
			o.pid = head.PID
		case "out":
			o.collect(head.Stream, f.Body)
		case "end":
			s.must(f.Decode(&o.End))
			left--
		default:
			s.tb.Fatalf("unexpected %s", f.Header)
		}
	}
	return all
}

func (o *outcome) collect(stream string, body []byte) {
	o.frames++
	o.largest = max(o.largest, len(body))
	if stream == "stdout" {
		o.stdout = append(o.stdout, body...)
	} else {
		o.stderr = append(o.stderr, body...)
	}
}

// run is begin and finish of one command.
func (s *session) run(job link.Exec) *outcome {
	s.tb.Helper()
	id := s.begin(job, nil)
	return s.finish(id)[id]
}

// started waits for the start frame of the only command.
func (s *session) started() int {
	s.tb.Helper()
	var st link.Start
	s.must(s.expect("start").Decode(&st))
	return st.PID
}

func (o *outcome) String() string {
	code, sig, killed, fault := "-", "-", "-", ""
	if o.ExitCode != nil {
		code = fmt.Sprint(*o.ExitCode)
	}
	if o.Signal != nil {
		sig = *o.Signal
	}
	if o.Killed != nil {
		killed = *o.Killed
	}
	if o.Error != nil {
		fault = o.Error.Code + ": " + o.Error.Message
	}
	return fmt.Sprintf("exit %s signal %s timedOut %v killed %s swept %d error %q stdout %.300q stderr %.300q",
		code, sig, o.TimedOut, killed, o.Swept, fault, o.stdout, o.stderr)
}

func (o *outcome) exited(code int) bool { return o.ExitCode != nil && *o.ExitCode == code }

func (o *outcome) killedFor(reason string) bool { return o.Killed != nil && *o.Killed == reason }
