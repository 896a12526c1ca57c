package files

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// xattrsOf reads by another call than the code under test.
func xattrOf(t *testing.T, path, name string) string {
	t.Helper()
	b := make([]byte, 64<<10)
	n, err := unix.Getxattr(path, name, b)
	if err != nil {
		return "-"
	}
	return string(b[:n])
}

func treeWithXattrs(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(root+"/d/e", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/d/e/f\nx", []byte("x"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(root, "user.probe", []byte("x"), 0); err != nil {
		t.Skipf("this file system keeps no extended attributes: %v", err)
	}
	return root
}

func TestXattrsComeBackAsTheyWere(t *testing.T) {
	root := treeWithXattrs(t)
	record := "d/e/f\nx\x002\x00user.a\x005\x00\x00\n=,%user.b\x000\x00" + "d\x001\x00user.\xff\x001\x00z"
	var errs bytes.Buffer
	if code := SetXattrs(root, strings.NewReader(record), &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	if got := xattrOf(t, root+"/d/e/f\nx", "user.a"); got != "\x00\n=,%" {
		t.Errorf("user.a is %q", got)
	}
	if st, err := os.Stat(root + "/d/e/f\nx"); err != nil || st.Mode() != 0o444 {
		t.Errorf("mode %v %v", st.Mode(), err)
	}
	var out bytes.Buffer
	if code := Xattrs(root, strings.NewReader("d\x00d/e\x00d/e/f\nx\x00gone\x00"), &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	want := "d\x00\x001\x00user.\xff\x001\x00z" + "d/e/f\nx\x00\x002\x00user.a\x005\x00\x00\n=,%user.b\x000\x00"
	if out.String() != want {
		t.Errorf("reported %q", out.String())
	}
}

func TestXattrsThatAreNotWantedGo(t *testing.T) {
	root := treeWithXattrs(t)
	for _, name := range []string{"user.old", "user.kept"} {
		if err := unix.Setxattr(root+"/d", name, []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if code := SetXattrs(root, strings.NewReader("d\x001\x00user.kept\x001\x002"), &bytes.Buffer{}); code != 0 {
		t.Errorf("exit %d", code)
	}
	if got := xattrOf(t, root+"/d", "user.old") + xattrOf(t, root+"/d", "user.kept"); got != "-2" {
		t.Errorf("left %q", got)
	}
}

func TestXattrsGoBeforeOthersNeedTheirRoom(t *testing.T) {
	root := treeWithXattrs(t)
	// Most of the one block that ext4 has for them.
	if err := unix.Setxattr(root+"/d", "user.now", make([]byte, 3000), 0); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	record := "d\x001\x00user.before\x003000\x00" + strings.Repeat("b", 3000)
	if code := SetXattrs(root, strings.NewReader(record), &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	if got := xattrOf(t, root+"/d", "user.before"); len(got) != 3000 || xattrOf(t, root+"/d", "user.now") != "-" {
		t.Errorf("user.before has %d bytes, user.now is %.10q", len(got), xattrOf(t, root+"/d", "user.now"))
	}
}

func TestXattrsThatNobodyCanListAreReported(t *testing.T) {
	root, err := os.MkdirTemp("/dev/shm", "xattrs")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(root)
	if err := os.WriteFile(root+"/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for n := range 300 {
		if err := unix.Setxattr(root+"/f", fmt.Sprintf("user.%0249d", n), nil, 0); err != nil {
			t.Skipf("this file system keeps no 64 KiB of names: %v", err)
		}
	}
	var out, errs bytes.Buffer
	if code := Xattrs(root, strings.NewReader("f\x00"), &out, &errs); code != 0 || out.String() != "f\x00many\x000\x00" {
		t.Errorf("read: exit %d, %q %s", code, out.String(), errs.String())
	}
	if code := SetXattrs(root, strings.NewReader("f\x000\x00"), &errs); code != 1 || errs.Len() == 0 {
		t.Errorf("set: exit %d, %s", code, errs.String())
	}
}

func TestXattrsNeverFollowLinksOrLeaveTheUsersNamespace(t *testing.T) {
	root, outside := treeWithXattrs(t), t.TempDir()
	if err := unix.Setxattr(outside, "user.mine", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(outside+"/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, root+"/link"); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := Xattrs(root, strings.NewReader("link\x00"), &out, &errs); code != 0 || out.Len() != 0 {
		t.Errorf("a link was followed: %q %s", out.String(), errs.String())
	}
	for _, record := range []string{"link/f\x001\x00user.a\x001\x001", "link\x001\x00user.a\x001\x001", "../x\x000\x00", "d\x001\x00security.x\x001\x001"} {
		if code := SetXattrs(root, strings.NewReader(record), &bytes.Buffer{}); code != 1 {
			t.Errorf("%q: exit %d", record, code)
		}
	}
	if got := xattrOf(t, outside, "user.a") + xattrOf(t, outside+"/f", "user.a"); got != "--" {
		t.Errorf("outside: %q", got)
	}
}

func TestXattrRecordsThatAreBrokenAreRefused(t *testing.T) {
	root := treeWithXattrs(t)
	for _, in := range []string{"d", "d\x00", "d\x00x\x00", "d\x001\x00user.a\x009\x00short", "d\x001\x00user.a\x00-1\x00", fmt.Sprintf("d\x00%d\x00", 1<<30)} {
		if code := SetXattrs(root, strings.NewReader(in), &bytes.Buffer{}); code != 1 {
			t.Errorf("%q: exit %d", in, code)
		}
	}
}
