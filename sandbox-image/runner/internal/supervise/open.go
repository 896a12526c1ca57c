package supervise

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"agentfleet.dev/runner/internal/sandbox"
	"golang.org/x/sys/unix"
)

// opening is how long a shell may take until it waits for its first command.
const opening = 10 * time.Second

// The shell of a session runs one of these loops. It reads a run's number, how many lines the
// command has, and the command from descriptor 3; it reports the result on descriptor 4. Both are
// closed to its children. Run 0 restores the variables of an earlier shell.
//
// Signal URG, which a shell ignores by default, ends the command: bash unwinds its functions and
// stays; other shells cannot, so they report their state and end.
var (
	//go:embed driver.bash
	bashDriver string
	//go:embed driver.sh
	shDriver string
)

// driver is the program for a shell of this name.
func driver(shell string) string {
	if filepath.Base(shell) == "bash" {
		return bashDriver
	}
	return shDriver
}

// main opens the session and serves it to its end.
func (s *session) main(saved []byte, score *proc.OOMScore, p *sandbox.Prepared, children <-chan os.Signal) int {
	if err := s.open(score, p); err != nil {
		s.fault = &refusalOf(err).fault
		return s.over()
	}
	// The first run restores the state of an earlier shell; like each run it ends with the shell
	// frozen.
	s.run, s.began = &link.Run{}, time.Now()
	s.timeout.Reset(opening)
	go s.tell(0, saved)
	go s.receive()
	s.serve(children)
	return s.over()
}

// open starts the shell: the first of the job's arguments that is there.
func (s *session) open(score *proc.OOMScore, p *sandbox.Prepared) error {
	defer func() {
		for _, fd := range []int{fdStdin, fdStdout, fdStderr} {
			unix.Close(fd)
		}
	}()
	shell, err := s.shellOf()
	if err != nil {
		return err
	}
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(null)
	commands, inbox, err := os.Pipe()
	if err != nil {
		return err
	}
	defer commands.Close()
	words, outbox, err := os.Pipe()
	if err != nil {
		return err
	}
	defer outbox.Close()
	job := *s.job
	job.Argv = []string{shell, "-c", driver(shell), shell}
	s.shell, s.inbox = shell, inbox
	// Fd makes the ends blocking, as a shell expects.
	files := []uintptr{uintptr(null), fdStdout, fdStderr, commands.Fd(), outbox.Fd()}
	if s.root, err = start(&job, streams{files: files}, score, p); err != nil {
		return err
	}
	s.records = listen(words)
	return nil
}

func (s *session) shellOf() (string, error) {
	err := error(refuse(notFound, unix.ENOENT, "no shell is named"))
	for _, shell := range s.job.Argv {
		if _, err = resolve(shell, s.job.Cwd, s.job.Env); err == nil {
			return shell, nil
		}
	}
	return "", err
}

// receive delivers the frames of PID 1; the closed channel means that it is gone.
func (s *session) receive() {
	defer close(s.frames)
	for {
		f, err := s.control.Receive()
		if err != nil {
			return
		}
		s.frames <- f
	}
}

// tell sends a command to the shell. The end of a shell is detected elsewhere.
func (s *session) tell(number int64, command []byte) {
	text := string(command)
	head := joinInts(number, int64(strings.Count(text, "\n")+1))
	_, _ = s.inbox.WriteString(head + "\n" + text + "\n")
}
