package serve

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"agentfleet.dev/runner/internal/sandbox"
	"agentfleet.dev/runner/internal/supervise"
	"golang.org/x/sys/unix"
)

const probeTime = 2 * time.Second

func (s *Server) info() link.Info {
	var u unix.Utsname
	_ = unix.Uname(&u)
	status := proc.Status()
	mode, _ := strconv.Atoi(status["Seccomp"])
	return link.Info{
		T: "info", Version: s.version, Arch: runtime.GOARCH, Kernel: unix.ByteSliceToString(u.Release[:]),
		PID: os.Getpid(), UID: os.Getuid(), GID: os.Getgid(), CapEff: status["CapEff"],
		NoNewPrivs: status["NoNewPrivs"] == "1", Seccomp: mode, Dumpable: !proc.Hidden(),
		UserNamespace: proc.InUserNamespace(), LandlockABI: sandbox.ABI(), Terminals: canMakeTerminals(), Layered: s.mounts != nil, Guest: proc.Guest(),
		Probe: s.probe(), Cgroup: proc.ReadCgroup(cgroupRoot),
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
