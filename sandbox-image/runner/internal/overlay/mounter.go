package overlay

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"agentfleet.dev/runner/internal/link"
	"golang.org/x/sys/unix"
)

const (
	// A runner that does not answer in this time has to join again.
	switchTime = 5 * time.Second
	// Unauthenticated peers may connect: the user's commands can reach the socket.
	maxStrangers = 8
)

type request struct {
	ID    int64  `json:"id"`
	Roots []Root `json:"roots"`
	// Paths are removed with their content.
	Paths []string `json:"paths"`
}

type answer struct {
	T     string `json:"t"`
	ID    int64  `json:"id"`
	Error string `json:"error,omitempty"`
}

// mounter holds the mounts in force and the runner that shares them.
type mounter struct {
	key       []byte
	strangers chan struct{}

	mu      sync.Mutex
	places  places
	targets []string
	fds     []int // one mount of each root, to be copied from
	runner  *peer
}

func newMounter(key []byte) *mounter {
	return &mounter{key: key, strangers: make(chan struct{}, maxStrangers), places: places{}}
}

// switchTo mounts all roots or none: an error of create leaves everything as it was. A later one is
// fatal.
func (m *mounter) switchTo(roots []Root) (err, fatal error) {
	fds, err := createAll(roots)
	if err != nil {
		return err, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var targets []string
	for _, r := range roots {
		targets = append(targets, r.Target)
	}
	if err := m.places.put(fds, targets); err != nil {
		return nil, err
	}
	// The last reference to the old mounts, whose end would be waited for.
	defer func(old []int) { go closeAll(old) }(m.fds)
	m.fds, m.targets = fds, targets
	m.share()
	return nil, nil
}

func createAll(roots []Root) ([]int, error) {
	fds, errs := make([]int, len(roots)), make([]error, len(roots))
	var all sync.WaitGroup
	for i, r := range roots {
		all.Go(func() { fds[i], errs[i] = r.create() })
	}
	all.Wait()
	err := errors.Join(errs...)
	if err == nil {
		return fds, nil
	}
	for i, fd := range fds {
		if errs[i] == nil {
			unix.Close(fd)
		}
	}
	return nil, err
}

// share hands the mounts to the runner, if there is one, and waits until it has put them in place. One that
// fails is cut off: it then ends its commands and joins again.
func (m *mounter) share() {
	if m.runner == nil || len(m.fds) == 0 {
		return
	}
	if err := m.hand(m.runner); err != nil {
		fmt.Fprintln(os.Stderr, "mounts: the runner did not follow:", err)
		m.runner.close()
		m.runner = nil
	}
}

func (m *mounter) hand(p *peer) error {
	var copies []int
	// The keeper need not wait for the kernel's work on each of them.
	defer func() { go closeAll(copies) }()
	for _, fd := range m.fds {
		c, err := copyOf(fd)
		if err != nil {
			return err
		}
		copies = append(copies, c)
	}
	p.deadline(switchTime)
	if err := p.send(line{T: "roots", Targets: m.targets}, copies...); err != nil {
		return err
	}
	l, _, err := p.receive()
	if err == nil && l.T != "done" {
		err = errors.New(l.Error)
	}
	p.deadline(0)
	return err
}

// listen lets runners in, one after another; the newest one counts.
func (m *mounter) listen(path string) error {
	_ = os.Remove(path)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return &os.PathError{Op: "bind", Path: path, Err: err}
	}
	if err := unix.Listen(fd, maxStrangers); err != nil {
		return os.NewSyscallError("listen", err)
	}
	go m.acceptAll(fd)
	return nil
}

func (m *mounter) acceptAll(fd int) {
	for {
		m.strangers <- struct{}{}
		c, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if err != nil {
			<-m.strangers
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go func() {
			defer func() { <-m.strangers }()
			m.admit(&peer{file: os.NewFile(uintptr(c), "runner")})
		}()
	}
}

func (m *mounter) admit(p *peer) {
	p.deadline(joinTime)
	if err := p.challenge(m.key); err != nil {
		p.close()
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runner != nil {
		m.runner.close()
	}
	m.runner = p
	m.share()
}

func (m *mounter) obey(control *link.Conn) error {
	for {
		f, err := control.Receive()
		if err != nil {
			return err
		}
		var q request
		if err := f.Decode(&q); err != nil {
			return err
		}
		if f.T == "flatten" || f.T == "remove" {
			// It takes long, and no command waits for it.
			go func() { _ = control.Send(answerTo(q, behind(f.T, q)), nil) }()
			continue
		}
		err, fatal := fmt.Errorf("request %q is not known", f.T), error(nil)
		if f.T == "mount" {
			err, fatal = m.switchTo(q.Roots)
		}
		if fatal != nil {
			return fatal
		}
		if err := control.Send(answerTo(q, err), nil); err != nil {
			return err
		}
	}
}

func behind(t string, q request) (err error) {
	if t == "flatten" {
		return Flatten(q.Roots)
	}
	for _, path := range q.Paths {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

func answerTo(q request, err error) answer {
	a := answer{T: "done", ID: q.ID}
	if err != nil {
		a.T, a.Error = "failed", err.Error()
	}
	return a
}
