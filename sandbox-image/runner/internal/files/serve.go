package files

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

const (
	// maxFrame is far more than the keeper ever sends at once.
	maxFrame = 64 << 20
	// Kinds of an answer.
	isOutput, isError, isEnd = 0, 1, 2
)

// call does one verb of this package: words, input, output, errors; it returns the exit status.
func call(memory *Memory, words []string, in io.Reader, out, errs io.Writer) int {
	switch {
	case len(words) == 2 && words[0] == "setmeta":
		return SetMeta(words[1], in, errs)
	case len(words) == 2 && words[0] == "setxattrs":
		return SetXattrs(words[1], in, errs)
	case len(words) == 2 && words[0] == "clear":
		return Clear(words[1], in, out, errs)
	case len(words) == 2 && words[0] == "xattrs":
		return Xattrs(words[1], in, out, errs)
	case len(words) == 4 && words[0] == "stat":
		if limit, err := strconv.ParseInt(words[2], 10, 64); err == nil {
			return memory.Stat(words[1], limit, words[3], out, errs)
		}
	}
	fmt.Fprintf(errs, "%q is not known\n", words)
	return 2
}

// Serve executes calls until its input ends, several at once, so that the start of a process is
// paid once. The input is frames "call length bytes" (32 bits each, little-endian): the first of a
// call has its words, with NUL between them, the others its input, and an empty one ends that. The
// output is frames "call kind length bytes" (32, 8 and 32 bits): output, errors, and at the end one
// byte with the status.
func Serve(in io.Reader, out, errs io.Writer) int {
	s := server{out: out, memory: NewMemory()}
	calls := map[uint32]*inbox{}
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		call, body, err := readFrame(r)
		if errors.Is(err, io.EOF) {
			return 0
		}
		if err != nil {
			fmt.Fprintln(errs, "runner files:", err)
			return 1
		}
		box, open := calls[call]
		switch {
		case !open:
			box = newInbox()
			calls[call] = box
			go s.do(call, strings.Split(string(body), "\x00"), box)
		case len(body) == 0:
			delete(calls, call)
			box.end()
		default:
			box.add(body)
		}
	}
}

func readFrame(r io.Reader) (call uint32, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.LittleEndian.Uint32(head[4:])
	if length > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes", length)
	}
	body = make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, fmt.Errorf("the input ends inside a frame: %w", io.ErrUnexpectedEOF)
	}
	return binary.LittleEndian.Uint32(head[:]), body, nil
}

type server struct {
	mu     sync.Mutex
	out    io.Writer
	memory *Memory
}

func (s *server) do(id uint32, words []string, in io.Reader) {
	code := call(s.memory, words, in, answerOf{s, id, isOutput}, answerOf{s, id, isError})
	_, _ = answerOf{s, id, isEnd}.Write([]byte{byte(code)})
}

type answerOf struct {
	*server
	call uint32
	kind byte
}

func (a answerOf) Write(p []byte) (int, error) {
	head := make([]byte, 0, 9)
	head = binary.LittleEndian.AppendUint32(head, a.call)
	head = append(head, a.kind)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(p)))
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.out.Write(head); err != nil {
		return 0, err
	}
	return a.out.Write(p)
}

// inbox is the input of a call. It is unbounded: a call that does not read must not block the
// others.
type inbox struct {
	mu    sync.Mutex
	more  *sync.Cond
	bytes []byte
	ended bool
}

func newInbox() *inbox {
	b := &inbox{}
	b.more = sync.NewCond(&b.mu)
	return b
}

func (b *inbox) add(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes = append(b.bytes, p...)
	b.more.Signal()
}

func (b *inbox) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.more.Signal()
}

func (b *inbox) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.bytes) == 0 && !b.ended {
		b.more.Wait()
	}
	if len(b.bytes) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.bytes)
	b.bytes = b.bytes[n:]
	return n, nil
}
