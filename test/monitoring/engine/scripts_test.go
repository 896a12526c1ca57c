// Package engine evaluates scripts with Prometheus' own engine.
package engine

import (
	"os"
	"testing"

	"github.com/prometheus/prometheus/promql/promqltest"
)

// TestScript runs the script that SCRIPT names, in the language of promqltest.
func TestScript(t *testing.T) {
	text, err := os.ReadFile(os.Getenv("SCRIPT"))
	if err != nil {
		t.Fatalf("SCRIPT names no script that can be read: %v", err)
	}
	promqltest.RunTest(t, string(text), promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery))
}
