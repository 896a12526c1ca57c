package files

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func mtime(t *testing.T, path string) int64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Mtim.Nano()
}

func TestTimesAreExactForAnyName(t *testing.T) {
	root := t.TempDir()
	names := []string{"plain", "line\nfeed", "not utf-8 \xff\xfe", "d/e/deep", "d/e", "d", "-n", " ", "."}
	if err := os.MkdirAll(root+"/d/e", 0o755); err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	for i, n := range names {
		if st, err := os.Stat(root + "/" + n); err != nil || !st.IsDir() {
			if err := os.WriteFile(root+"/"+n, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&in, "%d\x00%s\x00", 1_700_000_000_123_456_700+int64(i), n)
	}
	var errs bytes.Buffer
	if code := SetMeta(root, &in, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	for i, n := range names {
		if got, want := mtime(t, root+"/"+n), 1_700_000_000_123_456_700+int64(i); got != want {
			t.Errorf("%q: %d, want %d", n, got, want)
		}
	}
}

func TestLinksAreSetAndNeverFollowed(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(outside+"/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": outside + "/f", "dir": outside} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := mtime(t, outside+"/f")
	var errs bytes.Buffer
	code := SetMeta(root, strings.NewReader("-1500000001\x00link\x005\x00dir/f\x00"), &errs)
	if code != 1 || !strings.Contains(errs.String(), `"dir/f"`) || strings.Contains(errs.String(), `"link"`) {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	if got := mtime(t, root+"/link"); got != -1500000001 {
		t.Errorf("link: %d", got)
	}
	if mtime(t, outside+"/f") != before {
		t.Error("a file outside the root was changed")
	}
}

func TestTimesThatNanosecondsCannotHoldIn64Bits(t *testing.T) {
	for when, want := range map[string]unix.Timespec{
		"13569465600123456789":           {Sec: 13569465600, Nsec: 123456789}, // the year 2400
		"-13569465600123456789":          {Sec: -13569465601, Nsec: 876543211},
		"9223372036854775807999999999":   {Sec: 1<<63 - 1, Nsec: 999999999},
		"-9223372036854775808000000000":  {Sec: -1 << 63},
		"-1":                             {Sec: -1, Nsec: 999999999},
		"0":                              {},
		"9223372036854775808000000000":   {Sec: -1, Nsec: -1}, // refused
		"99999999999999999999999999999x": {Sec: -1, Nsec: -1},
		"1.5":                            {Sec: -1, Nsec: -1},
	} {
		got, err := instant(when)
		if refused := want.Nsec < 0; refused != (err != nil) || (!refused && got != want) {
			t.Errorf("%s: %+v, %v", when, got, err)
		}
	}
}

func TestBadRecordsAreNamedAndTheRestIsDone(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(root+"/ok", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../ok", "/etc/passwd", "", "a/../ok", "..", "./ok", "ok/", "absent", "\xff"} {
		var errs bytes.Buffer
		code := SetMeta(root, strings.NewReader("7\x00"+path+"\x009\x00ok\x00"), &errs)
		if code != 1 || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%q: exit %d, %q", path, code, errs.String())
		}
		if mtime(t, root+"/ok") != 9 {
			t.Errorf("%q stopped the next record", path)
		}
	}
	for _, in := range []string{"5\x00ok", "x\x00ok\x00", "5"} {
		if code := SetMeta(root, strings.NewReader(in), &bytes.Buffer{}); code != 1 {
			t.Errorf("%q: exit %d", in, code)
		}
	}
}

func TestInstallIsWholeAndExecutable(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second replaces the first
		if err := Install(dir); err != nil {
			t.Fatal(err)
		}
	}
	self, _ := os.Executable()
	want, _ := os.ReadFile(self)
	got, err := os.ReadFile(dir + "/runner")
	st, _ := os.Stat(dir + "/runner")
	if err != nil || !bytes.Equal(got, want) || st.Mode().Perm() != 0o555 {
		t.Errorf("%d of %d bytes, %v, %v", len(got), len(want), st.Mode(), err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left behind: %v", list)
	}
}
