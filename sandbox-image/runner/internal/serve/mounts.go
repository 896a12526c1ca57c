package serve

import (
	"fmt"
	"io"
	"os"

	"agentfleet.dev/runner/internal/overlay"
)

// mounts keeps the roots of this container those that the keeper sees, for as long as a link lives.
type mounts struct{ session *overlay.Session }

// joinMounts mounts the roots before the runner dials the keeper.
func (s *Server) joinMounts() (mounts, error) {
	if s.mounts == nil {
		return mounts{}, nil
	}
	session, err := s.mounts.Join()
	if err != nil {
		return mounts{}, fmt.Errorf("mounts: %w", err)
	}
	return mounts{session}, nil
}

// follow ends the link when it cannot follow: no command may run on roots that the keeper does not see.
func (m mounts) follow(s *Server, link io.Closer) {
	if m.session == nil {
		return
	}
	go func() {
		// The waiting supervisor has its rules on the roots as they were, and an open shell its folder in them.
		err := m.session.Follow(func() {
			s.killAll("LayersSwitched")
			s.seats.drop()
			go s.seats.refill()
		})
		fmt.Fprintln(os.Stderr, "runner: mounts:", err)
		link.Close()
	}()
}

func (m mounts) close() {
	if m.session != nil {
		m.session.Close()
	}
}
