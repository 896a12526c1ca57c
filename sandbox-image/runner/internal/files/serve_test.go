package files

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func frame(call uint32, body string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, call)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(body))), body...)
}

// replies takes the output of Serve apart: for each call its output, its errors and its status.
func replies(t *testing.T, r io.Reader, ends int) map[uint32][3]string {
	t.Helper()
	all := map[uint32][3]string{}
	for ends > 0 {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			t.Fatal(err)
		}
		body := make([]byte, binary.LittleEndian.Uint32(head[5:]))
		if _, err := io.ReadFull(r, body); err != nil {
			t.Fatal(err)
		}
		call := binary.LittleEndian.Uint32(head[:])
		reply := all[call]
		reply[head[4]] += string(body)
		all[call] = reply
		if head[4] == isEnd {
			ends--
		}
	}
	return all
}

func TestServeDoesCallsBesideOneAnother(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(root+"/"+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, toIn := io.Pipe()
	fromOut, out := io.Pipe()
	code := make(chan int, 1)
	go func() { code <- Serve(in, out, io.Discard) }()
	send := func(frames ...[]byte) {
		if _, err := toIn.Write(bytes.Join(frames, nil)); err != nil {
			t.Error(err)
		}
	}
	// The first call waits for its input while the others are done.
	send(frame(1, "setmeta\x00"+root), frame(1, "1000000001\x00a"), frame(2, "stat\x00"+root+"\x00100\x00-"), frame(2, ""), frame(3, "rm\x00x"))
	got := replies(t, fromOut, 2)
	want := new(bytes.Buffer)
	if NewMemory().Stat(root, 100, "-", want, io.Discard) != 0 {
		t.Error("a tree of two files has no stats")
	}
	if _, _, records := take(t, []byte(got[2][isOutput])); !bytes.Equal(records, want.Bytes()[tokenBytes+1:]) || got[2][isEnd] != "\x00" {
		t.Errorf("stat reported %q", got[2])
	}
	if got[3][isEnd] != "\x02" || !strings.Contains(got[3][isError], "not known") {
		t.Errorf("an unknown verb got %q", got[3])
	}
	go send(frame(1, "\x005\x00b\x006\x00gone\x00"), frame(1, ""), frame(4, "setmeta\x00"+root), frame(4, ""))
	got = replies(t, fromOut, 2)
	if got[1][isEnd] != "\x01" || !strings.Contains(got[1][isError], `"gone"`) || got[4][isEnd] != "\x00" {
		t.Errorf("setmeta reported %q and %q", got[1], got[4])
	}
	for name, want := range map[string]time.Time{"a": time.Unix(1, 1), "b": time.Unix(0, 5)} {
		if st, err := os.Stat(root + "/" + name); err != nil || !st.ModTime().Equal(want) {
			t.Errorf("%s: %v, %v", name, st.ModTime(), err)
		}
	}
	toIn.Close()
	if got := <-code; got != 0 {
		t.Errorf("it ended with %d", got)
	}
}

func TestServeEndsAtAFrameThatIsNone(t *testing.T) {
	for name, input := range map[string][]byte{"torn": frame(1, "stat")[:10], "huge": {1, 0, 0, 0, 255, 255, 255, 255}} {
		var errs bytes.Buffer
		if code := Serve(bytes.NewReader(input), io.Discard, &errs); code != 1 || errs.Len() == 0 {
			t.Errorf("%s: %d %q", name, code, errs.String())
		}
	}
}
