package link

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

func frame(header, body string) string {
	var sizes [8]byte
	binary.BigEndian.PutUint32(sizes[:], uint32(len(header)))
	binary.BigEndian.PutUint32(sizes[4:], uint32(len(body)))
	return string(sizes[:]) + header + body
}

func TestFrameGoesThroughUnchanged(t *testing.T) {
	b := &buffer{}
	c := NewConn(b)
	body := []byte{0, 0xff, '\n'}
	if err := c.Send(Out{T: "out", ID: "é", Stream: "stdout"}, body); err != nil {
		t.Fatal(err)
	}
	f, err := c.Receive()
	var o Out
	if err != nil || f.T != "out" || !bytes.Equal(f.Body, body) || f.Decode(&o) != nil || o.ID != "é" {
		t.Errorf("%+v %v", f, err)
	}
}

func TestBadFramesAreRefused(t *testing.T) {
	for name, raw := range map[string]string{
		"header over the limit": "\x00\x10\x00\x01\x00\x00\x00\x00",
		"body over the limit":   "\x00\x00\x00\x02\xff\xff\xff\xff{}",
		"no t":                  frame(`{"a":1}`, ""),
		"t is a number":         frame(`{"t":1}`, ""),
		"an array":              frame(`["t"]`, ""),
		"null":                  frame(`null`, ""),
		"not JSON":              frame(`{"t":"x"`, ""),
		"cut":                   frame(`{"t":"x"}`, "body")[:15],
	} {
		b := &buffer{}
		b.WriteString(raw)
		if f, err := NewConn(b).Receive(); err == nil {
			t.Errorf("%s: accepted as %+v", name, f)
		}
	}
}

func TestOversizedFrameIsNotSent(t *testing.T) {
	b := &buffer{}
	if err := NewConn(b).Send(Out{T: "out"}, make([]byte, MaxPart+1)); err == nil || b.Len() != 0 {
		t.Errorf("%v, %d bytes written", err, b.Len())
	}
}

// The value comes from another implementation of HMAC (Python's), so both sides agree on text.
func TestMacIsTheContracts(t *testing.T) {
	nonce := base64.StdEncoding.EncodeToString(make([]byte, 32))
	if want := "agentfleet-link/1 runner\n" + nonce + "\nB\nC"; RunnerText(nonce, "B", "C") != want {
		t.Error(RunnerText(nonce, "B", "C"))
	}
	if KeeperText("B", "A") != "agentfleet-link/1 keeper\nB\nA" {
		t.Error(KeeperText("B", "A"))
	}
	const want = "4542b901b7344d2718307f2927fcd35fb8e4e4b4d04a94a81f21e9e34284db0c"
	if got := Mac([]byte(strings.Repeat("k", 32)), RunnerText("A", "B", "C")); got != want {
		t.Errorf("mac %s, want %s", got, want)
	}
}

func TestKeeperMustKnowTheKey(t *testing.T) {
	key := []byte(strings.Repeat("k", 32))
	for name, keeperKey := range map[string]string{"right": string(key), "wrong": strings.Repeat("x", 32)} {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			c, nonce := NewConn(theirs), NewNonce()
			_ = c.Send(map[string]any{"t": "challenge", "v": 1, "nonce": nonce}, nil)
			var h hello
			if f, err := c.Receive(); err != nil || f.Decode(&h) != nil {
				return
			}
			_ = c.Send(map[string]any{"t": "welcome", "mac": Mac([]byte(keeperKey), KeeperText(h.Nonce, nonce))}, nil)
		}()
		err := Join(NewConn(ours), key, NewInstance())
		if (name == "right") != (err == nil) || (name == "wrong" && !errors.Is(err, ErrKeeper)) {
			t.Errorf("%s key: %v", name, err)
		}
		ours.Close()
	}
}

func TestKeeperMustSpeakVersion1(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() {
		_ = NewConn(theirs).Send(map[string]any{"t": "challenge", "v": 2, "nonce": NewNonce()}, nil)
		_, _ = io.Copy(io.Discard, theirs)
	}()
	if err := Join(NewConn(ours), []byte("k"), "i"); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Error(err)
	}
}
