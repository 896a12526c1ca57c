// Package test runs the real binary as PID 1 of a small container made of namespaces, as the
// kubelet would: uid 10001, no capabilities, a read-only socket folder, a fake keeper.
package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// runnerBinary is built once per test run, as the image builds it; impatientBinary asks PID 1
// for its last resort at once.
var runnerBinary, impatientBinary string

// helper is where the container sees the test binary, which tries things from inside.
const helper = "/opt-test/helper"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "container-init":
			containerInit()
		case "try":
			os.Exit(try(os.Args[2:]))
		}
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "runner-build-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// User 10001 must be able to reach the binary.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	runnerBinary, impatientBinary = filepath.Join(dir, "runner"), filepath.Join(dir, "impatient")
	for out, tag := range map[string]string{runnerBinary: "patient", impatientBinary: "impatient"} {
		build := exec.Command("go", "build", "-trimpath", "-tags", tag, "-ldflags", "-s -w -X main.version=test", "-o", out, "..")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}
