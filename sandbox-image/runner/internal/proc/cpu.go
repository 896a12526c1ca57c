package proc

import (
	"bytes"
	"os"
	"strconv"
)

// tickMillis is a tick of the kernel's USER_HZ on all architectures that images are built for.
const tickMillis = 10

// CPUMillis is the CPU time of a living process and the children that it waited for.
func CPUMillis(pid int) (ms int64) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	n := 0
	for f := range bytes.FieldsSeq(line[bytes.LastIndexByte(line, ')')+1:]) {
		if n >= 11 && n <= 14 {
			ms += int64(digits(f)) * tickMillis
		}
		n++
	}
	return ms
}
