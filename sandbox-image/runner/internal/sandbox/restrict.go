package sandbox

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// niceness of commands; the runner's own is 0.
const niceness = 10

// Policy is the permissions of a command.
type Policy struct {
	Writable []string
	Network  string
	// ReadOnly takes all rights to write away, also in the scratch folders.
	ReadOnly bool
	// Scratch gives those of the scratch folders back.
	Scratch bool
	// Terminal is the command's own one, empty for none.
	Terminal string
}

// Prepared is a set of restrictions that is not in force yet, good for one command.
type Prepared struct {
	rules   *ruleset
	ports   *ruleset
	points  []string
	err     error
	readers []unix.SockFilter // nil for a command that may write
	program []unix.SockFilter
}

// Begin prepares what does not depend on the command.
func Begin() *Prepared {
	r, err := base()
	points, e := mountPoints()
	return &Prepared{rules: r, points: points, err: errors.Join(err, e)}
}

// Complete adds the command's policy. It must run outside the restrictions.
func (p *Prepared) Complete(policy Policy) error {
	if err := errors.Join(p.err, uncovered(p.points, policy.Writable), p.rules.terminal(policy.Terminal, policy.ReadOnly)); err != nil {
		return err
	}
	if policy.ReadOnly {
		if err := p.readersOnly(); err != nil {
			return err
		}
		if policy.Scratch {
			if err := p.rules.write(scratch); err != nil {
				return err
			}
		}
	} else if err := p.rules.write(append(slices.Clone(policy.Writable), scratch...)); err != nil {
		return err
	}
	if policy.Network == NetworkNone {
		ports, err := closedPorts(ABI())
		if err != nil {
			return err
		}
		p.ports = ports
	}
	program, err := assemble(policy.Network)
	p.program = program
	return err
}

// Enforce restricts the calling thread for ever. The goroutine must be locked to a thread that is
// not the main one, and must end without unlocking it: the runtime then ends the thread. On the
// main thread, the whole process would count as inside the Landlock domain, and its commands could
// signal it.
func (p *Prepared) Enforce() error {
	if unix.Gettid() == unix.Getpid() {
		return errors.New("on the main thread")
	}
	// Against a hundred busy processes the supervisor needs more than its fair share to find them
	// all. Only the container's own processes are weighed so: the group's share stays the same.
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, niceness); err != nil {
		return os.NewSyscallError("setpriority", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("no_new_privs", err)
	}
	if err := errors.Join(p.rules.enforce(), p.ports.enforce()); err != nil {
		return err
	}
	if p.readers != nil {
		if err := filter(p.readers); err != nil {
			return err
		}
	}
	return filter(p.program)
}
