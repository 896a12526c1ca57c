package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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

func TestEmptyOpensWhatItsOwnerClosed(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	for _, mode := range []os.FileMode{0, 0o300, 0o500} {
		dir := t.TempDir()
		inner := filepath.Join(dir, "a", "b")
		err := errors.Join(os.MkdirAll(inner, 0o700), os.WriteFile(inner+"/f", nil, 0), os.Chmod(inner, mode), os.Chmod(dir, mode), Empty(dir))
		st, statErr := os.Stat(dir)
		if err := errors.Join(err, statErr); err != nil {
			t.Errorf("%o: %v", mode, err)
			continue
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%o: left: %v %v", mode, left, err)
		}
		if st.Mode() != os.ModeDir|os.ModeSticky|0o777 {
			t.Errorf("%o: it has the mode %v", mode, st.Mode())
		}
	}
}

func TestEmptyRemovesTreesThatAreDeeperThanAPath(t *testing.T) {
	top := t.TempDir()
	t.Chdir(top)
	name := strings.Repeat("d", 100)
	for range 120 {
		if err := errors.Join(unix.Mkdir(name, 0o700), os.WriteFile("deep-1", nil, 0o600), unix.Chdir(name)); err != nil {
			t.Fatal(err)
		}
	}
	// A closed folder at the bottom, and one file beside each folder that has the name of what is moved.
	if err := errors.Join(os.Mkdir("closed", 0), os.Chdir(top), Empty(top)); err != nil {
		t.Errorf("%.200v", err)
	}
	if left, err := os.ReadDir(top); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestClearKeepsOnlyTheSpecialThatIsNamed(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	err := errors.Join(
		os.MkdirAll(at("a/b/c"), 0o755), os.Mkdir(at("a/was"), 0o755), os.WriteFile(at("a/was/f"), nil, 0), os.WriteFile(at("a/b/f"), nil, 0),
		unix.Mkfifo(at("a/b/kept"), 0o600), unix.Mkfifo(at("a/b/c/new"), 0o600), os.Symlink(outside, at("link")), os.WriteFile(outside+"/f", nil, 0o600),
		os.Chmod(at("a/b"), 0o500))
	if err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	if code := Clear(root, strings.NewReader("a/b/kept\x00a/was\x00link\x00gone/there\x00"), &out, &errs); code != 0 || out.String() != "6" {
		t.Errorf("exit %d, removed %s: %s", code, out.String(), errs.String())
	}
	var left []string
	_ = filepath.WalkDir(root, func(path string, _ os.DirEntry, _ error) error {
		left = append(left, strings.TrimPrefix(path, root))
		return nil
	})
	if got := strings.Join(left, " "); got != " /a /a/b /a/b/kept" {
		t.Errorf("left:%s", got)
	}
	if _, err := os.Lstat(outside + "/f"); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
	if code := Clear(at("gone"), strings.NewReader(""), &out, &errs); code != 1 {
		t.Errorf("a root that is not there: exit %d", code)
	}
}
