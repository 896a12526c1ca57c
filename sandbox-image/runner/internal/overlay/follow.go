package overlay

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"agentfleet.dev/runner/internal/link"
	"golang.org/x/sys/unix"
)

// Follower is the runner's half: it puts the mounts that it is handed over its own roots.
type Follower struct {
	path string
	key  []byte
	// Mounts outlive a session with the keeper.
	places places
}

// NewFollower dials the socket at path when asked to.
func NewFollower(path string, key []byte) *Follower {
	return &Follower{path, key, places{}}
}

// Session is one connection; the roots are mounted when Join returns it.
type Session struct {
	follower *Follower
	peer     *peer
}

// Join proves the key, receives the mounts that are in force and puts them in place.
func (f *Follower) Join() (*Session, error) {
	socket, err := link.Dial(f.path)
	if err != nil {
		return nil, err
	}
	s := &Session{f, &peer{file: socket}}
	s.peer.deadline(joinTime)
	if err := s.peer.prove(f.key); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.step(func() {}); err != nil {
		s.Close()
		return nil, err
	}
	s.peer.deadline(0)
	return s, nil
}

// Follow places the mounts that arrive, until the connection ends. changed runs after each switch,
// before the keeper gets its answer.
func (s *Session) Follow(changed func()) error {
	for {
		if err := s.step(changed); err != nil {
			return err
		}
	}
}

// Close ends the connection; the mounts stay.
func (s *Session) Close() { s.peer.close() }

func (s *Session) step(changed func()) error {
	l, fds, err := s.peer.receive()
	defer closeAll(fds)
	if err != nil {
		return err
	}
	if l.T != "roots" || len(l.Targets) == 0 || len(l.Targets) != len(fds) {
		return fmt.Errorf("mounts: %q with %d targets and %d descriptors", l.T, len(l.Targets), len(fds))
	}
	if err := s.follower.places.put(fds, l.Targets); err != nil {
		_ = s.peer.send(line{T: "refused", Error: err.Error()})
		return err
	}
	changed()
	return s.peer.send(line{T: "done"})
}

const (
	joinTime = 3 * time.Second
	maxLine  = 64 << 10
	maxFDs   = 16
)

// line is one message of either side: JSON, ended by a line feed, with descriptors beside it.
type line struct {
	T       string   `json:"t"`
	Nonce   string   `json:"nonce,omitempty"`
	Mac     string   `json:"mac,omitempty"`
	Targets []string `json:"targets,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// peer is a Unix stream socket that carries lines and descriptors.
type peer struct {
	file *os.File
	rest []byte
	fds  []int
}

func (p *peer) deadline(d time.Duration) {
	at := time.Time{}
	if d > 0 {
		at = time.Now().Add(d)
	}
	_ = p.file.SetDeadline(at)
}

func (p *peer) close() {
	closeAll(p.fds)
	p.fds = nil
	p.file.Close()
}

func (p *peer) send(l line, fds ...int) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Write(func(fd uintptr) bool {
		var n int
		n, sent = unix.SendmsgN(int(fd), text, rights, nil, unix.MSG_NOSIGNAL)
		if n > 0 {
			text, rights = text[n:], nil
		}
		if sent == unix.EINTR || (sent == nil && len(text) > 0) {
			sent = nil
			return false
		}
		return sent != unix.EAGAIN
	})
	return errors.Join(err, sent)
}

// receive returns the next line and its descriptors, which the caller owns.
func (p *peer) receive() (line, []int, error) {
	for {
		if at := bytes.IndexByte(p.rest, '\n'); at >= 0 {
			var l line
			err := json.Unmarshal(p.rest[:at], &l)
			// Descriptors can arrive with the end of the previous line.
			n := min(len(l.Targets), len(p.fds))
			fds := p.fds[:n:n]
			p.rest, p.fds = append([]byte(nil), p.rest[at+1:]...), p.fds[n:]
			return l, fds, err
		}
		if len(p.rest) > maxLine {
			return line{}, nil, errors.New("mounts: a line is too long")
		}
		if err := p.fill(); err != nil {
			return line{}, nil, err
		}
	}
}

func (p *peer) fill() error {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	buf, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(4*maxFDs))
	var n, on int
	var got error
	err = raw.Read(func(fd uintptr) bool {
		n, on, _, _, got = unix.Recvmsg(int(fd), buf, oob, unix.MSG_CMSG_CLOEXEC)
		return got != unix.EAGAIN && got != unix.EINTR
	})
	if err := errors.Join(err, got); err != nil {
		return err
	}
	if n == 0 {
		return errors.New("mounts: the other side is gone")
	}
	p.rest = append(p.rest, buf[:n]...)
	messages, err := unix.ParseSocketControlMessage(oob[:on])
	for _, m := range messages {
		if fds, err := unix.ParseUnixRights(&m); err == nil {
			p.fds = append(p.fds, fds...)
		}
	}
	return err
}

func runnerText(theirs, ours string) string {
	return "agentfleet-mounts/1 runner\n" + theirs + "\n" + ours
}
func keeperText(theirs, ours string) string {
	return "agentfleet-mounts/1 keeper\n" + theirs + "\n" + ours
}

var errMac = errors.New("mounts: the other side does not hold the link key")

// prove is the handshake of the runner: both sides show that they hold the key.
func (p *peer) prove(key []byte) error {
	challenge, err := p.expect("challenge")
	if err != nil {
		return err
	}
	if len(challenge.Nonce) != len(link.NewNonce()) {
		return errMac
	}
	nonce := link.NewNonce()
	if err := p.send(line{T: "hello", Nonce: nonce, Mac: link.Mac(key, runnerText(challenge.Nonce, nonce))}); err != nil {
		return err
	}
	welcome, err := p.expect("welcome")
	if err == nil && !hmac.Equal([]byte(welcome.Mac), []byte(link.Mac(key, keeperText(nonce, challenge.Nonce)))) {
		err = errMac
	}
	return err
}

// challenge is the handshake of the keeper's side.
func (p *peer) challenge(key []byte) error {
	nonce := link.NewNonce()
	if err := p.send(line{T: "challenge", Nonce: nonce}); err != nil {
		return err
	}
	hello, err := p.expect("hello")
	if err != nil {
		return err
	}
	if len(hello.Nonce) != len(nonce) || !hmac.Equal([]byte(hello.Mac), []byte(link.Mac(key, runnerText(nonce, hello.Nonce)))) {
		return errMac
	}
	return p.send(line{T: "welcome", Mac: link.Mac(key, keeperText(hello.Nonce, nonce))})
}

func (p *peer) expect(t string) (line, error) {
	l, fds, err := p.receive()
	closeAll(fds)
	if err == nil && l.T != t {
		err = fmt.Errorf("mounts: %q instead of %q", l.T, t)
	}
	return l, err
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
