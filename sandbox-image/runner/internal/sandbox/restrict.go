package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// Policy is what a command may do.
type Policy struct {
	Writable []string
	Network  string
}

// Prepared is a policy that is compiled but not in force.
type Prepared struct {
	rules   *ruleset
	program []unix.SockFilter
}

// Prepare does all that can fail or takes time. It must run outside the restrictions.
func Prepare(p Policy) (*Prepared, error) {
	rules, err := compile(p.Writable)
	if err != nil {
		return nil, err
	}
	program, err := assemble(p.Network)
	if err != nil {
		return nil, err
	}
	return &Prepared{rules, program}, nil
}

// Enforce restricts the calling thread for ever. The goroutine must be locked to a thread that
// is not the main one, and must end without unlocking it: the runtime then throws the thread
// away. On the main thread, the whole process would count as inside the Landlock domain, and
// its commands could signal it.
func (p *Prepared) Enforce() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("no_new_privs", err)
	}
	if err := p.rules.enforce(); err != nil {
		return err
	}
	return filter(p.program)
}
