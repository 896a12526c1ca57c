package link

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

// MinKey is the shortest link key, in characters.
const MinKey = 32

// ErrKeeper reports that the peer does not hold the key.
var ErrKeeper = errors.New("link: the keeper's mac is wrong")

type challenge struct {
	V     int    `json:"v"`
	Nonce string `json:"nonce"`
}

type hello struct {
	T        string `json:"t"`
	V        int    `json:"v"`
	Nonce    string `json:"nonce"`
	Instance string `json:"instance"`
	Mac      string `json:"mac"`
}

type welcome struct {
	Mac string `json:"mac"`
}

// Mac is hex(HMAC-SHA256(key, text)).
func Mac(key []byte, text string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

// RunnerText is the text that the runner signs.
func RunnerText(keeperNonce, runnerNonce, instance string) string {
	return "agentfleet-link/1 runner\n" + keeperNonce + "\n" + runnerNonce + "\n" + instance
}

// KeeperText is the text that the keeper signs.
func KeeperText(runnerNonce, keeperNonce string) string {
	return "agentfleet-link/1 keeper\n" + runnerNonce + "\n" + keeperNonce
}

// NewInstance names one runner process: 16 random bytes in hex.
func NewInstance() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// NewNonce is 32 random bytes in base64.
func NewNonce() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.StdEncoding.EncodeToString(b[:])
}

// Join proves the key to the keeper and checks that the keeper has it too. The caller sets the
// deadline on the stream (3 s).
func Join(c *Conn, key []byte, instance string) error {
	var ch challenge
	if err := receive(c, "challenge", &ch); err != nil {
		return err
	}
	if ch.V != 1 {
		return fmt.Errorf("link: version %d of the keeper is not 1", ch.V)
	}
	// A nonce that is not 32 bytes could carry line feeds and shift the signed fields.
	if n, err := base64.StdEncoding.Strict().DecodeString(ch.Nonce); err != nil || len(n) != 32 {
		return errors.New("link: the keeper's nonce is not 32 bytes in base64")
	}
	nonce := NewNonce()
	mac := Mac(key, RunnerText(ch.Nonce, nonce, instance))
	if err := c.Send(hello{"hello", 1, nonce, instance, mac}, nil); err != nil {
		return err
	}
	var w welcome
	if err := receive(c, "welcome", &w); err != nil {
		return err
	}
	if !hmac.Equal([]byte(w.Mac), []byte(Mac(key, KeeperText(nonce, ch.Nonce)))) {
		return ErrKeeper
	}
	return nil
}

func receive(c *Conn, t string, v any) error {
	f, err := c.Receive()
	if err != nil {
		return err
	}
	if f.T != t {
		return fmt.Errorf("link: %q instead of %q", f.T, t)
	}
	return f.Decode(v)
}
