package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"agentfleet.dev/runner/internal/link"
	"agentfleet.dev/runner/internal/proc"
	"agentfleet.dev/runner/internal/sandbox"
	"golang.org/x/sys/unix"
)

// streams are the descriptors of a command from 0 on.
type streams struct {
	files    []uintptr
	terminal bool // 0 becomes its controlling terminal
}

// start runs the command under its restrictions and returns its pid.
func start(job *link.Exec, io streams, score *proc.OOMScore, prepared *sandbox.Prepared) (int, error) {
	if len(job.Argv) == 0 {
		return 0, refuse(notFound, unix.ENOENT, "argv is empty")
	}
	if err := checkCwd(job.Cwd); err != nil {
		return 0, err
	}
	file, err := resolve(job.Argv[0], job.Cwd, job.Env)
	if err != nil {
		return 0, err
	}
	if err := prepare(job, prepared); err != nil {
		return 0, err
	}
	score.Raise()
	defer score.Restore()
	pid, err := sandbox.WithLimits(job.Limits, func() (int, error) {
		return restricted(prepared, func() (int, error) { return fork(file, job, io) })
	})
	if err == nil {
		return pid, nil
	}
	var r *refusal
	if errors.As(err, &r) {
		return 0, r
	}
	return 0, explain(file, err)
}

func prepare(job *link.Exec, p *sandbox.Prepared) error {
	if err := sandbox.SetLimits(job.Limits); err != nil {
		return refuse(notExecutable, err, "limits: "+err.Error())
	}
	policy := sandbox.Policy{Writable: job.Writable, Network: job.Network, ReadOnly: job.ReadOnly, Scratch: job.Scratch}
	if job.Pty != nil {
		policy.Terminal = terminalPath(job.Pty)
	}
	if err := p.Complete(policy); err != nil {
		return refuse(notExecutable, err, "restrictions: "+err.Error())
	}
	return nil
}

func terminalPath(pty *link.Pty) string { return fmt.Sprintf("/dev/pts/%d", pty.Number) }

// restricted runs f on a separate thread under the restrictions; the thread ends with it, so that
// the supervisor stays outside the Landlock domain.
func restricted[T any](p *sandbox.Prepared, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the runtime ends the thread
		var r result
		if err := p.Enforce(); err != nil {
			r.err = refuse(notExecutable, err, "restrictions: "+err.Error())
		} else {
			r.v, r.err = f()
		}
		done <- r
	}()
	r := <-done
	return r.v, r.err
}

// fork executes file with exactly the frame's environment, in a new session: its process groups can
// then never hold a process of the runner, and a group is killed in one step.
func fork(file string, job *link.Exec, io streams) (int, error) {
	env := make([]string, 0, len(job.Env))
	for k, v := range job.Env {
		if k == "" || strings.ContainsRune(k, '=') {
			return 0, refuse(notExecutable, unix.EINVAL, "the name of a variable is empty or holds '='")
		}
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	return syscall.ForkExec(file, job.Argv, &syscall.ProcAttr{
		Dir:   job.Cwd,
		Env:   env,
		Files: io.files,
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: io.terminal},
	})
}

// probe tries the restrictions on a thread that has them. It cannot run a program: the only one
// known to be in the image is the runner, which the restrictions hide.
func probe(job *link.Exec, p *sandbox.Prepared) link.Probe {
	before := sandbox.Look()
	if err := prepare(job, p); err != nil {
		return link.Probe{Error: err.Error()}
	}
	r, err := restricted(p, func() (link.Probe, error) { return before.Try(), nil })
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func runProbe(job *link.Exec, p *sandbox.Prepared) int {
	out := os.NewFile(fdStdout, "stdout")
	if err := json.NewEncoder(out).Encode(probe(job, p)); err != nil {
		return 1
	}
	return 0
}
