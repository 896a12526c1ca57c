package serve

import (
	"os"
	"sync/atomic"

	"agentfleet.dev/runner/internal/link"
	"golang.org/x/sys/unix"
)

// pipeMost bounds the bytes read after the end: more than any pipe holds by default.
const pipeMost = 1 << 20

// budget is the number of bytes that a command may still send, over both streams.
type budget struct{ left atomic.Int64 }

func (b *budget) take(n int) int {
	for {
		left := b.left.Load()
		got := min(left, int64(n))
		if got <= 0 {
			return 0
		}
		if b.left.CompareAndSwap(left, left-got) {
			return int(got)
		}
	}
}

// output moves one stream from its pipe to the link.
type output struct {
	pipe           *os.File
	keep           bool // the pipe serves the next command of a session too
	budget         *budget
	send           func([]byte) error
	bytes, dropped int64
	done           chan struct{}
}

// pump reads until the pipe ends or finish is called. Output over the budget is read as well, so
// that a flooding command neither blocks nor fills memory; a slow keeper holds the command back
// through the socket.
func (o *output) pump() {
	defer close(o.done)
	buf := make([]byte, link.MaxOut)
	for {
		n, err := o.pipe.Read(buf)
		o.take(buf[:n])
		if err == nil {
			continue
		}
		if os.IsTimeout(err) {
			o.drain(buf)
		}
		if !o.keep {
			o.pipe.Close()
		}
		return
	}
}

func (o *output) take(data []byte) {
	o.bytes += int64(len(data))
	n := o.budget.take(len(data))
	if n > 0 && o.send(data[:n]) != nil {
		n = 0
	}
	o.dropped += int64(len(data) - n)
}

// finish waits for the rest. The command has ended, so all its output is in the pipe; another
// process may hold the other end open, so the end of the pipe is not waited for.
func (o *output) finish() {
	_ = o.pipe.SetReadDeadline(unixPast)
	<-o.done
}

// drain reads what is in the pipe without waiting.
func (o *output) drain(buf []byte) {
	_ = o.pipe.SetReadDeadline(noDeadline)
	raw, err := o.pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		for total := 0; total < pipeMost; {
			n, err := unix.Read(int(fd), buf)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 || err != nil {
				break
			}
			total += n
			o.take(buf[:n])
		}
		return true
	})
}
