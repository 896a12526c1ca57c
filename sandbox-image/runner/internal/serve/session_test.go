package serve

import (
	"os"
	"testing"

	"agentfleet.dev/runner/internal/link"
)

// sink is a link whose other side reads everything and sends nothing.
type sink struct{}

func (sink) Read([]byte) (int, error)    { select {} }
func (sink) Write(b []byte) (int, error) { return len(b), nil }
func (sink) Close() error                { return nil }

func pipe(t *testing.T) *os.File {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		read.Close()
		write.Close()
	})
	return read
}

func TestAKillThatMeetsTheEndOfARunLeavesTheSessionAlone(t *testing.T) {
	conn := link.NewConn(sink{})
	given := make(chan struct{})
	close(given)
	x := &session{link: conn, seat: &seat{ends: &ends{stdout: pipe(t), stderr: pipe(t)}, control: conn, given: given}}
	s := &Server{commands: map[string]*active{}}
	r := x.begin(&link.Run{ID: "r", GraceMs: 1000}, nil)
	r.kill("Cancelled", nil)
	if !r.late.timer.Stop() {
		t.Error("a kill of a run that goes on must have a backstop")
	}
	x.finish(s, &link.End{}, nil)
	r.kill("Cancelled", nil)
	if r.late.timer.Stop() {
		t.Error("the supervisor of the session would be killed")
	}
}
