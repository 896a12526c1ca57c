package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OOMKills reads the counter of the container's own control group under root (/sys/fs/cgroup), of version 2 or 1; nil = cannot know.
func OOMKills(root string) *int64 {
	for _, path := range []string{"memory.events", "memory/memory.oom_control"} {
		text, _ := os.ReadFile(filepath.Join(root, path))
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) == 2 && f[0] == "oom_kill" {
				if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					return &n
				}
			}
		}
	}
	return nil
}

// OOMHappened compares two readings; nil = cannot know.
func OOMHappened(before, after *int64) *bool {
	if before == nil || after == nil {
		return nil
	}
	yes := *after > *before
	return &yes
}

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
