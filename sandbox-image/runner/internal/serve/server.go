// Package serve is the runner as PID 1 of the user's container: it keeps the link to the keeper,
// starts a supervisor per command, reaps, and kills.
package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"agentfleet.dev/runner/internal/files"
	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/overlay"
	"agentfleet.dev/runner/internal/proc"
	"agentfleet.dev/runner/internal/sandbox"
	"agentfleet.dev/runner/internal/supervise"
	"golang.org/x/sys/unix"
)

const (
	cgroupRoot    = "/sys/fs/cgroup"
	handshakeTime = 3 * time.Second
	dialFirst     = 50 * time.Millisecond
	dialMost      = time.Second
	spareThreads  = 16
	queued        = 64
)

// Server is the state of PID 1.
type Server struct {
	path, instance, version string
	key                     []byte
	reaper                  *reaper
	seats                   *seats
	mounts                  *overlay.Follower // nil where the roots are the volumes themselves

	mu       sync.Mutex
	commands map[string]*active
	sessions map[string]*session
	running  sync.WaitGroup
	owner    bool // of the container and of its IPC objects
}

// Main serves until the keeper's exit frame or SIGTERM. The key leaves the environment first:
// children get none of it, and the process is hidden before it starts any.
func Main(version string) int {
	if err := proc.Hide(); err != nil {
		fmt.Fprintln(os.Stderr, "runner: cannot hide the link key:", err)
		return 1
	}
	key, path, mounts := os.Getenv("AGENTFLEET_LINK_KEY"), os.Getenv("AGENTFLEET_LINK"), os.Getenv("AGENTFLEET_MOUNTS")
	os.Clearenv()
	if len(key) < link.MinKey {
		fmt.Fprintf(os.Stderr, "runner: AGENTFLEET_LINK_KEY must hold at least %d characters, has %d\n", link.MinKey, len(key))
		return 1
	}
	if path == "" {
		path = "/.agentfleet/link/keeper.sock"
	}
	tune()
	if err := freshen(); err != nil {
		fmt.Fprintln(os.Stderr, "runner: what is left of an earlier container cannot be removed; replace the pod:", err)
		return 1
	}
	s := &Server{
		path: path, instance: link.NewInstance(), version: version, key: []byte(key),
		reaper: newReaper(), commands: map[string]*active{}, sessions: map[string]*session{}, owner: ownsContainer(),
	}
	s.seats = &seats{reaper: s.reaper}
	if mounts != "" {
		s.mounts = overlay.NewFollower(mounts, s.key)
	}
	go s.signals()
	s.dialForever()
	return 1
}

// injected is where the pod's init container puts the runner.
const injected = "/.agentfleet/bin/runner"

// tune keeps the process small and makes the threads it will ever need, before any command can
// use up the control group's processes.
func tune() {
	_ = os.Chdir("/")
	proc.CloseOnExec()
	_ = proc.AdoptOrphans() // PID 1 adopts anyway; under a foreign init this makes it so
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(25)
	debug.SetMemoryLimit(16 << 20)
	devNull()
	proc.ParkThreads(spareThreads)
}

// freshen empties storage that outlives the container but belongs to no snapshot, so that a
// restarted container is clean: the volume at /tmp, and the shared memory of the pod. Only as PID 1
// that was injected into a pod: nothing else runs there yet. Started in any other way, perhaps in a
// PID namespace over a developer's own files, these folders must not be touched. A container that
// cannot be made clean must not serve: the checks in it would see what the attempt left.
func freshen() error {
	if !ownsContainer() {
		return nil
	}
	freshenIPC()
	return errors.Join(files.Empty("/tmp"), files.Empty("/dev/shm"))
}

// ownsContainer reports whether this process was injected into a pod and is its container's PID 1.
func ownsContainer() bool {
	self, err := os.Executable()
	return err == nil && os.Getpid() == 1 && self == injected
}

// freshenIPC removes kernel objects that can outlive the last process of a command.
func freshenIPC() {
	if err := files.EmptyIPC(); err != nil {
		fmt.Fprintln(os.Stderr, "runner: IPC objects are left:", err)
	}
}

// devNull is opened once and lives as long as the process.
var devNull = sync.OnceValue(func() uintptr {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		panic("runner: /dev/null: " + err.Error())
	}
	return uintptr(fd)
})

// signals ends the container on TERM and INT. The others are received and forgotten: the Go
// runtime would die of some of them.
func (s *Server) signals() {
	ch := make(chan os.Signal, 8)
	signal.Notify(ch)
	for sig := range ch {
		if sig == unix.SIGTERM || sig == unix.SIGINT {
			s.exit(0)
		}
	}
}

// exit ends everything. When PID 1 ends, the kernel kills the namespace and waits for it.
func (s *Server) exit(code int) {
	if os.Getpid() != 1 {
		s.killAll("Exit")
		s.running.Wait()
	}
	os.Exit(code)
}

func (s *Server) dialForever() {
	pause, last := dialFirst, ""
	for {
		joined, err := s.session()
		s.killAll("LinkLost")
		s.running.Wait()
		if joined {
			pause = dialFirst
		}
		if text := err.Error(); text != last || joined {
			fmt.Fprintln(os.Stderr, "runner: link:", text)
			last = text
		}
		time.Sleep(pause)
		pause = min(2*pause, dialMost)
	}
}

// session serves one link; joined reports whether the keeper authenticated.
func (s *Server) session() (joined bool, err error) {
	var roots *overlay.Session
	if s.mounts != nil {
		if roots, err = s.mounts.Join(); err != nil {
			return false, fmt.Errorf("mounts: %w", err)
		}
		defer roots.Close()
	}
	socket, err := link.Dial(s.path)
	if err != nil {
		return false, err
	}
	defer socket.Close()
	if roots != nil {
		go s.follow(roots, socket)
	}
	if err := socket.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
		return false, err
	}
	conn := link.NewConn(socket)
	if err := link.Join(conn, s.key, s.instance); err != nil {
		return false, err
	}
	if err := socket.SetDeadline(noDeadline); err != nil {
		return false, err
	}
	if err := conn.Send(s.info(), nil); err != nil {
		return true, err
	}
	s.seats.refill()
	answers := make(chan any, queued)
	defer close(answers)
	go func() {
		// Apart from the reader: a keeper that does not read must still be able to kill.
		for a := range answers {
			_ = conn.Send(a, nil)
		}
	}()
	for {
		f, err := conn.Receive()
		if err != nil {
			return true, err
		}
		if a := s.obey(f, conn); a != nil {
			select {
			case answers <- a:
			default: // the keeper asks and does not listen
			}
		}
	}
}

// forget takes a command of which no process is left out of the table, before its end is sent: the keeper may use its id again then. The
// IPC objects of the only one are removed first; beside another one their owner is unknown.
func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner && len(s.commands) == 1 {
		freshenIPC()
	}
	delete(s.commands, id)
}

func (s *Server) killAll(reason string) {
	zero := int64(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.commands {
		c.kill(reason, &zero)
	}
	for _, shell := range s.sessions {
		shell.end()
	}
}

// sweepAll is the last resort: one system call that no fork outruns, at the price of every
// other command. Only PID 1 may do it: elsewhere it would reach beyond the container.
func (s *Server) sweepAll() {
	if os.Getpid() != 1 {
		return
	}
	s.mu.Lock()
	for _, c := range s.commands {
		c.swept.Store(true)
	}
	s.mu.Unlock()
	_ = unix.Kill(-1, unix.SIGKILL)
	s.seats.drop()
}

const probeTime = 2 * time.Second

func (s *Server) info() link.Info {
	status := proc.Status()
	mode, _ := strconv.Atoi(status["Seccomp"])
	return link.Info{
		T: "info", Version: s.version, CapEff: status["CapEff"],
		NoNewPrivs: status["NoNewPrivs"] == "1", Seccomp: mode, Dumpable: !proc.Hidden(),
		UserNamespace: proc.InUserNamespace(), LandlockABI: sandbox.ABI(), Terminals: canMakeTerminals(), Layered: s.mounts != nil, Guest: proc.Guest(),
		Probe: s.probe(),
	}
}

// probe starts a supervisor that restricts a thread as for a command and tries operations that must
// fail.
func (s *Server) probe() link.Probe {
	seat, err := s.seats.take()
	if err != nil {
		return link.Probe{Error: err.Error()}
	}
	defer seat.close()
	stuck := time.AfterFunc(probeTime, func() { _ = unix.Kill(seat.pid, unix.SIGKILL) })
	job := link.Exec{T: supervise.TProbe, Network: "Loopback"}
	if err := seat.control.Send(job, nil); err != nil {
		return link.Probe{Error: err.Error()}
	}
	text, err := io.ReadAll(io.LimitReader(seat.stdout, link.MaxOut))
	stuck.Stop()
	var p link.Probe
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return link.Probe{Error: "probe: " + err.Error()}
	}
	return p
}

// follow keeps the roots of this container those that the keeper sees, and ends the link when it cannot.
func (s *Server) follow(roots *overlay.Session, link io.Closer) {
	// The waiting supervisor has its rules on the roots as they were, and an open shell its folder in them.
	err := roots.Follow(func() {
		s.killAll("LayersSwitched")
		s.seats.drop()
		go s.seats.refill()
	})
	fmt.Fprintln(os.Stderr, "runner: mounts:", err)
	link.Close()
}
