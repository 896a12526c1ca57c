// The report of a session's shell after each run; see supervise.go for the package.

package supervise

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

const (
	// maxExports bounds the variables that a rebuilt shell gets back.
	maxExports = 256 << 10
	maxWord    = 16 << 10
)

// record is the shell's report after a run, on a descriptor that its commands do not have. It is
// untrusted user input: it decides about this run and this session, and about nothing else.
type record struct {
	leaving bool // the shell is about to end
	number  int64
	status  int
	cwd     string
	exports string // output of `export -p`; empty when it was too long
}

// listen reads records until the shell and all that has its descriptor are gone.
func listen(from *os.File) <-chan record {
	ch := make(chan record)
	go func() {
		defer close(ch)
		defer from.Close()
		var p parser
		buf := make([]byte, 4<<10)
		for {
			n, err := from.Read(buf)
			for _, r := range p.push(buf[:n]) {
				ch <- r
			}
			if err != nil {
				return
			}
		}
	}()
	return ch
}

// parser cuts the stream: exports, NUL, kind, number and status, a line with the folder, NUL.
type parser struct {
	exports, word []byte
	tooLong       bool
	inWord        bool
}

func (p *parser) push(data []byte) (all []record) {
	for len(data) > 0 {
		part, rest, ended := bytes.Cut(data, []byte{0})
		data = rest
		if p.inWord {
			p.word = limited(p.word, part, maxWord)
		} else {
			p.tooLong = p.tooLong || len(p.exports)+len(part) > maxExports
			p.exports = limited(p.exports, part, maxExports)
		}
		if !ended {
			return all
		}
		if p.inWord {
			if r, ok := parseWord(string(p.word)); ok {
				if !p.tooLong {
					r.exports = string(p.exports)
				}
				all = append(all, r)
			}
			*p = parser{inWord: true}
		}
		p.inWord = !p.inWord
	}
	return all
}

func limited(to, part []byte, most int) []byte {
	return append(to, part[:min(len(part), max(0, most-len(to)))]...)
}

// parseWord reads "r 3 0\n/workspace\n".
func parseWord(word string) (r record, ok bool) {
	head, cwd, _ := strings.Cut(word, "\n")
	f := strings.Fields(head)
	if len(f) != 3 || (f[0] != "r" && f[0] != "x") {
		return r, false
	}
	number, err := strconv.ParseInt(f[1], 10, 64)
	status, bad := strconv.Atoi(f[2])
	if err != nil || bad != nil || status < 0 || status > 255 {
		return r, false
	}
	return record{leaving: f[0] == "x", number: number, status: status, cwd: strings.TrimSuffix(cwd, "\n")}, true
}

func joinInts(a, b int64) string { return strconv.FormatInt(a, 10) + " " + strconv.FormatInt(b, 10) }
