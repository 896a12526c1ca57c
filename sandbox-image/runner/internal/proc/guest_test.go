package proc

import "testing"

func TestGuestIsKnownByItsKernel(t *testing.T) {
	const host = "Linux version 6.18.4 (builder@host) (gcc 14) #1 SMP PREEMPT_DYNAMIC Tue Aug  4 10:00:00 UTC 2026"
	for _, c := range []struct{ version, line, want string }{
		{host, "BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro quiet", ""},
		{"Linux version 4.19.0-gvisor #1 SMP Sun Jan 10 15:06:54 PST 2016", "BOOT_IMAGE=/vmlinuz-4.19.0-gvisor quiet", "gVisor"},
		{"Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016", "BOOT_IMAGE=/vmlinuz-4.4.0-gvisor quiet", "gVisor"},
		{host, "root=/dev/vda1 systemd.unit=kata-containers.target agent.log=debug", "Kata"},
		{host, "console=hvc0 agent.log_vport=1025", "Kata"},
		{"Linux version 6.8.0-gvisory-1", "quiet", ""},
		{"", "", ""},
	} {
		if got := guestOf(c.version, c.line); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.version, c.line, got, c.want)
		}
	}
}
