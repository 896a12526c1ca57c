package supervise

import (
	"bytes"
	_ "embed"
	"os"
	"path/filepath"
	"strconv"
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

func driver(shell string) string {
	if filepath.Base(shell) == "bash" {
		return bashDriver
	}
	return shDriver
}

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

const (
	// maxExports bounds the variables that a rebuilt shell gets back.
	maxExports = 256 << 10
	maxWord    = 16 << 10
)

// record is the shell's report after a run, on a descriptor that its commands do not have. It is
// untrusted user input: it decides about this run and this session, and about nothing else.
type record struct {
	leaving bool // the shell is about to end
	number  int64
	status  int
	cwd     string
	exports string // output of `export -p`; empty when it was too long
}

// listen reads records until the shell and all that has its descriptor are gone.
func listen(from *os.File) <-chan record {
	ch := make(chan record)
	go func() {
		defer close(ch)
		defer from.Close()
		var p parser
		buf := make([]byte, 4<<10)
		for {
			n, err := from.Read(buf)
			for _, r := range p.push(buf[:n]) {
				ch <- r
			}
			if err != nil {
				return
			}
		}
	}()
	return ch
}

// parser cuts the stream: exports, NUL, kind, number and status, a line with the folder, NUL.
type parser struct {
	exports, word []byte
	tooLong       bool
	inWord        bool
}

func (p *parser) push(data []byte) (all []record) {
	for len(data) > 0 {
		part, rest, ended := bytes.Cut(data, []byte{0})
		data = rest
		if p.inWord {
			p.word = limited(p.word, part, maxWord)
		} else {
			p.tooLong = p.tooLong || len(p.exports)+len(part) > maxExports
			p.exports = limited(p.exports, part, maxExports)
		}
		if !ended {
			return all
		}
		if p.inWord {
			if r, ok := parseWord(string(p.word)); ok {
				if !p.tooLong {
					r.exports = string(p.exports)
				}
				all = append(all, r)
			}
			*p = parser{inWord: true}
		}
		p.inWord = !p.inWord
	}
	return all
}

func limited(to, part []byte, most int) []byte {
	return append(to, part[:min(len(part), max(0, most-len(to)))]...)
}

// parseWord reads "r 3 0\n/workspace\n".
func parseWord(word string) (r record, ok bool) {
	head, cwd, _ := strings.Cut(word, "\n")
	f := strings.Fields(head)
	if len(f) != 3 || (f[0] != "r" && f[0] != "x") {
		return r, false
	}
	number, err := strconv.ParseInt(f[1], 10, 64)
	status, bad := strconv.Atoi(f[2])
	if err != nil || bad != nil || status < 0 || status > 255 {
		return r, false
	}
	return record{leaving: f[0] == "x", number: number, status: status, cwd: strings.TrimSuffix(cwd, "\n")}, true
}

func joinInts(a, b int64) string { return strconv.FormatInt(a, 10) + " " + strconv.FormatInt(b, 10) }
