package proc

import (
	"os"
	"strings"
)

// The date in every version of gVisor's /proc/version; the name is in its release since 2025.
const gvisorDate = "#1 SMP Sun Jan 10 15:06:54 PST 2016"

// Guest names the kernel when it is known to differ from the node's: gVisor, Kata, or empty. Images
// cannot change what it reads.
func Guest() string {
	version, _ := os.ReadFile("/proc/version")
	line, _ := os.ReadFile("/proc/cmdline")
	return guestOf(string(version), string(line))
}

func guestOf(version, line string) string {
	if strings.Contains(version, "-gvisor ") || strings.Contains(version, gvisorDate) {
		return "gVisor"
	}
	for _, word := range strings.Fields(line) {
		// Kernel parameters for the agent of the runtime, and the unit that starts it.
		if strings.HasPrefix(word, "agent.") || word == "systemd.unit=kata-containers.target" {
			return "Kata"
		}
	}
	return ""
}
