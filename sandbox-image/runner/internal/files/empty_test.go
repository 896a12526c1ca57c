package files

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEmptyRemovesClosedFoldersAndFollowsNothing(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(outside, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "a", "closed", "deep"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "a", "closed", "f\nname"), nil, 0))
	must(os.Symlink(filepath.Dir(outside), filepath.Join(dir, "a", "link")))
	must(os.Symlink(outside, filepath.Join(dir, "file-link")))
	must(os.Chmod(filepath.Join(dir, "a", "closed"), 0))
	must(Empty(dir))
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "kept" {
		t.Errorf("a link was followed: %q %v", b, err)
	}
	must(Empty(filepath.Join(dir, "absent")))
}
