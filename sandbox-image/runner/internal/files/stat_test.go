package files

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// take splits an answer: its token as the next request has it, whether it is complete, and the
// records.
func take(t *testing.T, b []byte) (since string, whole bool, records []byte) {
	t.Helper()
	if len(b) <= tokenBytes {
		t.Fatalf("an answer of %d bytes", len(b))
	}
	return hex.EncodeToString(b[:tokenBytes]), b[tokenBytes] == isWhole, b[tokenBytes+1:]
}

// decoded decodes records into lines "depth name size mode", with a star where something below may be
// unreported.
func decoded(t *testing.T, b []byte) string {
	t.Helper()
	var lines []string
	for len(b) > 0 {
		depth, length := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
		number := func(at int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[6+8*at:])) }
		line := fmt.Sprintf("%d %q %v %o", depth, b[recordHead:recordHead+length], number(3), int(number(4)))
		lines = append(lines, line+strings.Repeat("*", int(binary.LittleEndian.Uint16(b[4:]))))
		b = b[recordHead+length:]
	}
	return strings.Join(lines, "\n")
}

func TestStatTellsATreeInTheOrderOfItsBytes(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(root+"/a/b", 0o755))
	must(os.MkdirAll(root+"/a.d", 0o755))
	must(os.WriteFile(root+"/a/b/x\xff", []byte("abc"), 0o600))
	must(os.WriteFile(root+"/a/z\n", nil, 0o640))
	must(os.WriteFile(root+"/b", []byte("1"), 0o4711))
	must(os.Chmod(root+"/b", 0o711|os.ModeSetuid))
	must(os.WriteFile(outside+"/not mine", nil, 0o600))
	must(os.Symlink(outside, root+"/link"))
	var out, errs bytes.Buffer
	memory := NewMemory()
	if code := memory.Stat(root, 100, "-", &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	want := fmt.Sprintf("1 \"a\" 4096 40755\n2 \"b\" 4096 40755\n3 \"x\\xff\" 3 100600\n2 \"z\\n\" 0 100640\n1 \"a.d\" 4096 40755\n1 \"b\" 1 104711\n1 \"link\" %d 120777", len(outside))
	_, _, records := take(t, out.Bytes())
	got := decoded(t, records)
	// The size of a folder depends on the file system.
	if strings.ReplaceAll(got, " 4096 ", " ") != strings.ReplaceAll(want, " 4096 ", " ") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if code := memory.Stat(root, 6, "-", &out, &errs); code != 1 || !strings.Contains(errs.String(), "more than 6 names") {
		t.Errorf("over the limit: exit %d, %s", code, errs.String())
	}
	if code := memory.Stat(root+"/absent", 6, "-", &out, &errs); code != 1 {
		t.Errorf("absent: exit %d", code)
	}
}

func TestMillisecondsAreThoseOfNode(t *testing.T) {
	for nsec, want := range map[int64]float64{0: 1_700_000_000_000, 123_456_789: 1_700_000_000_123.456789, 999_999_999: 1_700_000_000_999.999999} {
		if got := milliseconds(unix.Timespec{Sec: 1_700_000_000, Nsec: nsec}); got != want {
			t.Errorf("%d: %v, want %v", nsec, got, want)
		}
	}
}
