package overlay

import (
	"fmt"

	"agentfleet.dev/runner/internal/link"
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
