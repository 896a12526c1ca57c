package supervise

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAPathIsNotCleanedBesideLinks(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"bin", "real/bin", "real/pkg"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real/pkg", filepath.Join(dir, "pkg")); err != nil {
		t.Fatal(err)
	}
	for _, bin := range []string{"bin", "real/bin"} {
		if err := os.WriteFile(filepath.Join(dir, bin, "tool"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file, err := resolve("tool", dir, map[string]string{"PATH": dir + "/pkg/../bin"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := filepath.EvalSymlinks(file)
	if want := filepath.Join(dir, "real/bin/tool"); err != nil || got != want {
		t.Errorf("%s, want %s (%v)", got, want, err)
	}
}
