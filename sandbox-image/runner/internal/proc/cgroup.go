package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"agentfleet.dev/runner/internal/link"
)

// noLimit: control groups v1 write "no limit" as a number near 2^63.
const noLimit = 1 << 62

// ReadCgroup reads the container's own group under root (/sys/fs/cgroup); unreadable values stay
// nil.
func ReadCgroup(root string) link.Cgroup {
	if n := counter(filepath.Join(root, "memory.events"), "oom_kill"); n != nil {
		return link.Cgroup{Version: 2, MemoryLimitBytes: number(filepath.Join(root, "memory.max")), OOMKills: n}
	}
	v1 := filepath.Join(root, "memory")
	if n := counter(filepath.Join(v1, "memory.oom_control"), "oom_kill"); n != nil {
		return link.Cgroup{Version: 1, MemoryLimitBytes: number(filepath.Join(v1, "memory.limit_in_bytes")), OOMKills: n}
	}
	return link.Cgroup{}
}

// OOMHappened compares two readings; nil = cannot know.
func OOMHappened(before, after link.Cgroup) *bool {
	if before.OOMKills == nil || after.OOMKills == nil {
		return nil
	}
	yes := *after.OOMKills > *before.OOMKills
	return &yes
}

func counter(path, key string) *int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 2 && f[0] == key {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return &n
			}
		}
	}
	return nil
}

func number(path string) *int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n >= noLimit {
		return nil
	}
	return &n
}
