package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// No second numbering on this architecture; nothing is this large.
const foreignNumbers = 0x40000000
