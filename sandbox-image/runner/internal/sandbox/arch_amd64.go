package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// x32 numbers start here: a second door to every system call.
const foreignNumbers = 0x40000000
