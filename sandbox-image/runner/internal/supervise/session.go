package supervise

import (
	"os"
	"runtime"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"golang.org/x/sys/unix"
)

const (
	// unwind is how long a shell may take to return when all its children are dead.
	unwind = time.Second
	// settleMost is how long the end of a run may take; then the shell is killed too.
	settleMost = 3 * time.Second
)

// session is a shell that serves many runs. Each run ends with the shell frozen and everything else
// dead, so that nothing acts between runs.
type session struct {
	*task
	inbox   *os.File // commands for the shell
	records <-chan record
	frames  chan link.Frame
	shell   string
	opened  bool
	fault   *link.Fault

	run       *link.Run // nil = idle
	number    int64
	started   time.Time
	asked     bool // the run was asked to end
	forced    bool // and its processes are killed
	outcome   *record
	settling  time.Time // zero = not yet
	quiet     int       // scans in a row that found the shell only
	exports   string
	cwd       string
	cpu       int64 // that of the tree when the run began, in ms
	unwinding *time.Timer
}

func newSession(t *task) *session {
	s := &session{task: t, frames: make(chan link.Frame, 4), unwinding: idle()}
	s.watchEvery = watchFirst
	s.watch, s.timeout, s.grace, s.round = time.NewTimer(watchMost), idle(), idle(), idle()
	return s
}

// serve is the life of the session. It stays on one thread, as tracing asks for.
func (s *session) serve(children <-chan os.Signal) {
	runtime.LockOSThread()
	for s.reap(); !s.empty; s.reap() {
		if s.rootDone && !s.killing {
			s.beginKilling()
			continue
		}
		select {
		case <-s.more:
		case <-children:
		case f, ok := <-s.frames:
			s.obey(f, ok)
		case r, ok := <-s.records:
			s.reported(r, ok)
		case <-s.timeout.C:
			s.timedOut = true
			s.ask(time.Duration(s.current().GraceMs) * time.Millisecond)
		case <-s.grace.C:
			s.force()
		case <-s.unwinding.C:
			s.giveUp()
		case <-s.watch.C:
			s.count()
		case <-s.round.C:
			s.nextRound()
		}
	}
}

func (s *session) current() *link.Run {
	if s.run == nil {
		return &link.Run{}
	}
	return s.run
}

func (s *session) obey(f link.Frame, ok bool) {
	switch {
	case !ok || f.T == "close":
		s.frames = nil
		s.beginKilling()
	case f.T == "run":
		var r link.Run
		if f.Decode(&r) == nil {
			s.begin(&r, f.Body)
		}
	case f.T == "kill" && s.run != nil:
		var k link.Kill
		if f.Decode(&k) != nil {
			return
		}
		if s.reason == nil && !s.timedOut {
			s.reason = &k.Reason
		}
		s.ask(k.Grace(s.run.GraceMs))
	case f.T == "interrupt" && s.run != nil:
		s.interrupt()
	}
}

// begin thaws the shell with a command in its inbox.
func (s *session) begin(r *link.Run, command []byte) {
	s.run, s.started, s.outcome, s.asked, s.forced = r, time.Now(), nil, false, false
	s.settling, s.quiet, s.swept, s.reason, s.timedOut = time.Time{}, 0, 0, nil, false
	clear(s.killed)
	s.number++
	s.cpu = s.cpuNow()
	if s.frozen {
		s.frozen = false
		if err := thaw(s.root, s.signal); err != nil {
			s.beginKilling()
			return
		}
	}
	s.watchEvery = watchFirst
	s.watch.Reset(s.watchEvery)
	if r.TimeoutMs > 0 {
		s.timeout.Reset(time.Duration(r.TimeoutMs) * time.Millisecond)
	}
	go s.tell(s.number, command)
}

// others are the processes of the session but the shell; known is false when they cannot be read.
func (s *session) others() (found []proc.Process, known bool) {
	all, err := s.reader.Scan()
	if err != nil {
		return nil, false
	}
	for _, p := range proc.Below(all, os.Getpid(), nil) {
		if p.PID != s.root {
			found = append(found, p)
		}
	}
	return found, true
}

func (s *session) signalOthers(sig unix.Signal) int {
	others, _ := s.others()
	for _, p := range others {
		_ = unix.Kill(p.PID, sig)
	}
	return len(others)
}

// ask asks the command to end: the shell leaves it before the next step, its children get TERM. The
// signal to the shell comes first, so that no next step begins.
func (s *session) ask(grace time.Duration) {
	if s.run == nil || !s.settling.IsZero() || s.forced {
		return
	}
	if !s.asked {
		s.asked = true
		_ = unix.Kill(s.root, unix.SIGURG)
		s.signalOthers(unix.SIGTERM)
		s.signalOthers(unix.SIGCONT)
	}
	if grace <= 0 {
		s.force()
		return
	}
	s.grace.Reset(grace)
}

// force kills the children of the command, round after round, and gives the shell a moment.
func (s *session) force() {
	if s.run == nil || !s.settling.IsZero() || s.forced {
		return
	}
	s.forced = true
	s.unwinding.Reset(unwind)
	s.nextRound()
}

func (s *session) giveUp() {
	if s.run != nil && s.settling.IsZero() {
		s.beginKilling()
	}
}

// interrupt acts like ^C at a terminal: on the foreground processes, or else on the shell's own
// loops.
func (s *session) interrupt() {
	if s.signalOthers(unix.SIGINT) == 0 {
		_ = unix.Kill(s.root, unix.SIGURG)
	}
}

// reported handles the shell's report of a run. A shell that exits is not stopped on its way out.
func (s *session) reported(r record, ok bool) {
	if !ok {
		s.records = nil
		return
	}
	if r.number != s.number || s.run == nil || s.outcome != nil {
		return // an old word, or one out of turn
	}
	s.outcome = &r
	if len(r.exports) > 0 {
		s.exports = r.exports
	}
	if r.leaving {
		s.cwd = r.cwd
		s.unwinding.Reset(unwind)
		return
	}
	s.settling = time.Now()
	if err := freeze(s.root); err != nil {
		if !s.opened {
			s.fault = &link.Fault{Code: "EPERM", Message: "a shell cannot be frozen here, so none is opened: " + err.Error()}
		}
		s.beginKilling() // it may be gone, or hide itself from tracing
		return
	}
	s.nextRound()
}
