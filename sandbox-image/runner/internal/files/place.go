package files

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"
)

// places resolves names under a root and keeps the last directory open: records of one folder are
// adjacent. No component may be a link: a tree under restore could lead out of itself.
type places struct {
	root, dir int
	dirName   string
}

func openPlaces(root string) (*places, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &places{root: fd, dir: -1}, nil
}

func (p *places) close() {
	p.closeDir()
	unix.Close(p.root)
}

// each does step until it returns io.EOF as end, and returns the exit status of the verb. A failure at one path is reported, and the
// next path tried; another end is a broken input.
func each(verb, root string, errs io.Writer, step func(*places) (path string, failed, end error)) (code int) {
	at, err := openPlaces(root)
	if err != nil {
		fmt.Fprintf(errs, "runner %s: %s: %v\n", verb, root, err)
		return 1
	}
	defer at.close()
	for {
		path, failed, end := step(at)
		switch {
		case errors.Is(end, io.EOF):
			return code
		case end != nil:
			fmt.Fprintln(errs, end)
			return 1
		case failed != nil:
			code = 1
			fmt.Fprintf(errs, "%q: %v\n", path, failed)
		}
	}
}

// find opens the directory of a path and returns its descriptor with the last component. The
// descriptor is the caller's until the next call.
func (p *places) find(path string) (dir int, name string, err error) {
	if path == "" || path[0] == '/' {
		return 0, "", errors.New("the path is empty or absolute")
	}
	parent, name := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	if name == ".." || name == "" || (name == "." && parent != "") {
		return 0, "", errors.New("the path does not end in a name")
	}
	if err := p.enter(parent); err != nil {
		return 0, "", err
	}
	return p.dir, name, nil
}

func (p *places) enter(dir string) error {
	if p.dir >= 0 && p.dirName == dir {
		return nil
	}
	p.closeDir()
	at, err := unix.Openat(p.root, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(dir, "/") {
		if dir == "" {
			break
		}
		if part == "" || part == "." || part == ".." {
			unix.Close(at)
			return errors.New("the path holds an empty component, . or ..")
		}
		next, err := unix.Openat(at, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(at)
		if err != nil {
			return err
		}
		at = next
	}
	p.dir, p.dirName = at, dir
	return nil
}

func (p *places) closeDir() {
	if p.dir >= 0 {
		unix.Close(p.dir)
		p.dir = -1
	}
}
