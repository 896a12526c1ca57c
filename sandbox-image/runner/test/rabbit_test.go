package test

import (
	"testing"

	"agentfleet.dev/runner/internal/link"
)

// Chains of processes that fork, end and leave their session are faster than rounds over /proc. If
// the rounds do not end them within a second, PID 1 kills all; either way nothing is left at the
// end, and the next command works.
func TestRabbitsAreCaught(t *testing.T) {
	s, c := serve(t, options{})
	for _, chains := range []string{"1", "7", "10"} {
		other := s.begin(command("sleep", "60"), nil)
		s.started()
		job := command(helper, "try", "rabbit", chains)
		none := 1 << 20
		job.TimeoutMs, job.GraceMs, job.Limits.Processes = 200, 0, &none
		id := s.begin(job, nil)
		ended, asked := map[string]*outcome{}, false
		for len(ended) < 2 {
			f, err := s.Receive()
			s.must(err)
			if f.T != "end" {
				continue
			}
			o := &outcome{}
			s.must(f.Decode(&o.End))
			ended[o.ID] = o
			if o.ID == id && ended[other] == nil && !asked {
				asked = true
				if left := c.alive(); len(left) > 1 {
					t.Errorf("%d processes outlived the rabbit: %.300q", len(left)-1, left)
				}
				s.must(s.Send(link.Kill{T: "kill", ID: other, Reason: "done"}, nil))
			}
		}
		c.mustBeEmpty()
		t.Logf("2^%s chains, %d ms: %s; other: %s", chains, ended[id].DurationMs, ended[id], ended[other])
		s.must(s.Send(map[string]any{"t": "ping"}, nil)) // the kill may have been too late
		for f := (link.Frame{}); f.T != "pong"; {
			var err error
			f, err = s.Receive()
			s.must(err)
		}
		if o := ended[other]; !o.killedFor("done") && !o.killedFor("Swept") {
			t.Errorf("the other command: %s", o)
		}
		if o := s.run(command("echo", "still here")); string(o.stdout) != "still here\n" {
			t.Error(o)
		}
	}
}

func TestLastResortEndsAllAndLeavesARunner(t *testing.T) {
	s, c := serve(t, options{binary: impatientBinary})
	other := s.begin(command("sleep", "60"), nil)
	s.started()
	job := command("sh", "-c", "trap '' TERM; "+helper+" try daemon 1; while :; do sleep 1; done")
	job.TimeoutMs, job.GraceMs = 200, 100
	id := s.begin(job, nil)
	ended := s.finish(id, other)
	c.mustBeEmpty()
	if o := ended[other]; !o.killedFor("Swept") || o.Signal == nil {
		t.Errorf("the other command: %s", o)
	}
	if o := ended[id]; !o.TimedOut || o.Swept == 0 {
		t.Errorf("the culprit: %s", o)
	}
	if o := s.run(command("echo", "still here")); string(o.stdout) != "still here\n" {
		t.Error(o)
	}
}
