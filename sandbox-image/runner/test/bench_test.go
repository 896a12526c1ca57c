package test

import (
	"os/exec"
	"testing"
	"time"
)

// BenchmarkBareSpawn is the alternative for a user: the same command without the runner.
func BenchmarkBareSpawn(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// pause between commands, as a keeper makes it at least: it hashes and records in between.
const pause = 20 * time.Millisecond

// BenchmarkBareSpawnPaused is the measure for BenchmarkExec: idle machines start things slower.
func BenchmarkBareSpawnPaused(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		time.Sleep(pause)
		b.StartTimer()
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExec is exec frame to end frame, over the link.
func BenchmarkExec(b *testing.B) {
	s, _ := serve(b, options{})
	for b.Loop() {
		b.StopTimer()
		time.Sleep(pause)
		b.StartTimer()
		if o := s.run(command("/bin/true")); !o.exited(0) {
			b.Fatal(o)
		}
	}
}

// BenchmarkExecBackToBack leaves no time to make the spare supervisor.
func BenchmarkExecBackToBack(b *testing.B) {
	s, c := serve(b, options{})
	for b.Loop() {
		if o := s.run(command("/bin/true")); !o.exited(0) {
			b.Fatal(o)
		}
	}
	time.Sleep(100 * time.Millisecond)
	b.ReportMetric(float64(c.rss())/(1<<20), "MiB-rss")
}

// BenchmarkIdle reports the memory of a runner that has done nothing but shake hands.
func BenchmarkIdle(b *testing.B) {
	_, c := serve(b, options{})
	time.Sleep(300 * time.Millisecond)
	for b.Loop() {
		c.rss()
	}
	b.ReportMetric(float64(c.rss())/(1<<20), "MiB-rss")
}
