package files

import (
	"bytes"
	"encoding/json"
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

// line is the JSON of one path with a note and pairs of name and value.
func line(path, note string, pairs ...string) string {
	a := attributed{Path: []byte(path), Note: note}
	for n := 0; n < len(pairs); n += 2 {
		a.Attributes = append(a.Attributes, attribute{[]byte(pairs[n]), []byte(pairs[n+1])})
	}
	text, _ := json.Marshal(a)
	return string(text) + "\n"
}

func TestXattrsComeBackAsTheyWere(t *testing.T) {
	root := treeWithXattrs(t)
	record := line("d/e/f\nx", "", "user.a", "\x00\n=,%", "user.b", "") + line("d", "", "user.\xff", "z")
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
	want := line("d", "", "user.\xff", "z") + line("d/e/f\nx", "", "user.a", "\x00\n=,%", "user.b", "")
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
	if code := SetXattrs(root, strings.NewReader(line("d", "", "user.kept", "2")), &bytes.Buffer{}); code != 0 {
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
	record := line("d", "", "user.before", strings.Repeat("b", 3000))
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
	if code := Xattrs(root, strings.NewReader("f\x00"), &out, &errs); code != 0 || out.String() != line("f", "many") {
		t.Errorf("read: exit %d, %q %s", code, out.String(), errs.String())
	}
	if code := SetXattrs(root, strings.NewReader(line("f", "")), &errs); code != 1 || errs.Len() == 0 {
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
	for _, record := range []string{line("link/f", "", "user.a", "1"), line("link", "", "user.a", "1"), line("../x", ""), line("d", "", "security.x", "1")} {
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
	for _, in := range []string{"d", "{", `{"path":"ZA==","attributes":[`, `{"path":1}`, line("d", "", "user.a", strings.Repeat("x", 1<<17))} {
		if code := SetXattrs(root, strings.NewReader(in), &bytes.Buffer{}); code != 1 {
			t.Errorf("%q: exit %d", in, code)
		}
	}
}
