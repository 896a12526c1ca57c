package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/net/bpf"
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
	program, err := encode(filterFor(native, policy.Network))
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

// scratch are the folders that a command may write to beside its roots.
var scratch = []string{"/tmp", "/dev/shm"}

// metadata are the calls that change a file without opening it for writing, which Landlock does
// not know. A number of 0 on arm64: the call is not there.
var metadata = map[string]numbers{
	"chmod": {90, 0}, "chown": {92, 0}, "lchown": {94, 0}, "utime": {132, 0}, "utimes": {235, 0}, "futimesat": {261, 0},
	"fchmod": {91, 52}, "fchmodat": {268, 53}, "fchmodat2": {452, 452}, "fchown": {93, 55}, "fchownat": {260, 54},
	"utimensat": {280, 88}, "setxattr": {188, 5}, "lsetxattr": {189, 6}, "fsetxattr": {190, 7}, "setxattrat": {463, 463},
	"removexattr": {197, 14}, "lremovexattr": {198, 15}, "fremovexattr": {199, 16}, "removexattrat": {466, 466},
	"file_setattr": {469, 469},
}

// bySecondArgument are refused to readers for some values of it.
var bySecondArgument = map[string]struct {
	numbers
	values []uint32
}{
	// Flags of files, which their owner may set on a file that is open for reading.
	"ioctl": {numbers{16, 29}, []uint32{unix.FS_IOC_SETFLAGS, 0x401c5820 /* FS_IOC_FSSETXATTR */}},
	// A lease blocks processes that open the file for writing.
	"fcntl": {numbers{72, 25}, []uint32{unix.F_SETLEASE}},
}

// readerFilter is put in force before the filter of all commands, which judges the architecture.
func readerFilter(m machine) []bpf.Instruction {
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: offsetNr, Size: 4}}
	for _, n := range metadata {
		if nr := n[m.column]; nr != 0 {
			program = append(program, is(nr, errno(unix.EPERM))...)
		}
	}
	for _, c := range bySecondArgument {
		rules := []bpf.Instruction{low(1)}
		for _, v := range c.values {
			rules = append(rules, is(v, errno(unix.EPERM))...)
		}
		program = append(program, is(c.numbers[m.column], append(rules, allow)...)...)
	}
	return append(program, allow)
}

// readable refuses to take a command for reading where a file could be written all the same.
func (r *ruleset) readable() error {
	if r == nil || r.handled&unix.LANDLOCK_ACCESS_FS_TRUNCATE == 0 {
		return fmt.Errorf("a command that only reads needs Landlock with ABI 3, this kernel has %d: %w", ABI(), unix.EOPNOTSUPP)
	}
	return nil
}

// readersOnly completes the policy of a command that writes nothing.
func (p *Prepared) readersOnly() error {
	if err := p.rules.readable(); err != nil {
		return err
	}
	program, err := encode(readerFilter(native))
	p.readers = program
	return err
}
