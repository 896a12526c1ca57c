// Package link speaks the framed protocol of LINK.md: to the keeper over the Unix socket, and,
// with the same frames, between PID 1 and its supervisors over a socket pair.
package link

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// MaxPart is the largest header and the largest body, in bytes.
const MaxPart = 1 << 20

// MaxOut is the largest body of an `out` frame, in bytes.
const MaxOut = 32 << 10

// Frame is one message: a JSON object with a member t, and raw bytes.
type Frame struct {
	T      string
	Header json.RawMessage
	Body   []byte
}

// Decode reads the header into v.
func (f Frame) Decode(v any) error {
	if err := json.Unmarshal(f.Header, v); err != nil {
		return fmt.Errorf("link: header of %q: %w", f.T, err)
	}
	return nil
}

// Conn reads from one goroutine and writes from any number of them.
type Conn struct {
	rw io.ReadWriteCloser
	mu sync.Mutex
}

// NewConn frames a byte stream.
func NewConn(rw io.ReadWriteCloser) *Conn { return &Conn{rw: rw} }

// Close ends the stream; pending reads and writes fail.
func (c *Conn) Close() error { return c.rw.Close() }

// Send writes one frame; header is any value that marshals to an object with a member t.
// A frame is never interleaved with another one.
func (c *Conn) Send(header any, body []byte) error {
	h, err := json.Marshal(header)
	if err != nil {
		return err
	}
	if len(h) > MaxPart || len(body) > MaxPart {
		return fmt.Errorf("link: frame over %d bytes", MaxPart)
	}
	buf := make([]byte, 8, 8+len(h))
	binary.BigEndian.PutUint32(buf, uint32(len(h)))
	binary.BigEndian.PutUint32(buf[4:], uint32(len(body)))
	buf = append(buf, h...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.rw.Write(buf); err != nil {
		return err
	}
	if len(body) == 0 {
		return nil
	}
	_, err = c.rw.Write(body)
	return err
}

// Receive reads one frame. Both lengths are checked before anything is allocated, so that a
// peer cannot make the runner fill its memory.
func (c *Conn) Receive() (Frame, error) {
	var sizes [8]byte
	if _, err := io.ReadFull(c.rw, sizes[:]); err != nil {
		return Frame{}, err
	}
	h, b := binary.BigEndian.Uint32(sizes[:]), binary.BigEndian.Uint32(sizes[4:])
	if h > MaxPart || b > MaxPart {
		return Frame{}, fmt.Errorf("link: frame of %d+%d bytes is over the limit", h, b)
	}
	buf := make([]byte, h+b)
	if _, err := io.ReadFull(c.rw, buf); err != nil {
		return Frame{}, err
	}
	f := Frame{Header: buf[:h:h], Body: buf[h:]}
	var t struct {
		T *string `json:"t"`
	}
	if err := json.Unmarshal(f.Header, &t); err != nil {
		return Frame{}, fmt.Errorf("link: header is not an object: %w", err)
	}
	if t.T == nil {
		return Frame{}, fmt.Errorf("link: header has no member t")
	}
	f.T = *t.T
	return f, nil
}

// Dial opens the Unix socket at path. It does without package net, which would double the
// memory of an idle runner.
func Dial(path string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "connect", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Pair makes a connected pair: ours is polled, theirs is a plain descriptor for a child.
func Pair() (ours *os.File, theirs int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, -1, err
	}
	return os.NewFile(uintptr(fds[0]), "control"), fds[1], nil
}
