package sandbox

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

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
