package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agentfleet.dev/runner/internal/link"
	"golang.org/x/sys/unix"
)

// defaultPath is the default of execvp without PATH.
const defaultPath = "/bin:/usr/bin"

// Exit codes of a command that did not start, as shells have them.
const (
	notExecutable = 126
	notFound      = 127
)

type refusal struct {
	exit  int
	fault link.Fault
}

func (r *refusal) Error() string { return r.fault.Message }

func refuse(exit int, err error, message string) *refusal {
	code := "EIO"
	var e unix.Errno
	if errors.As(err, &e) {
		code = unix.ErrnoName(e)
	}
	return &refusal{exit, link.Fault{Code: code, Message: message}}
}

func refusalOf(err error) *refusal {
	var r *refusal
	if !errors.As(err, &r) {
		r = refuse(notExecutable, err, err.Error())
	}
	return r
}

// checkCwd makes sure that a missing directory is not mistaken for a missing command.
func checkCwd(cwd string) error {
	if !filepath.IsAbs(cwd) {
		return refuse(notExecutable, unix.EINVAL, fmt.Sprintf("cwd %q is not an absolute path", cwd))
	}
	st, err := os.Stat(cwd)
	if err == nil && !st.IsDir() {
		err = unix.ENOTDIR
	}
	if err == nil {
		err = unix.Access(cwd, unix.X_OK)
	}
	if err != nil {
		return refuse(notExecutable, err, fmt.Sprintf("cwd %q: %v", cwd, err))
	}
	return nil
}

// resolve finds the file of argv0: by the command's own PATH when it has no slash, else
// relative to cwd.
func resolve(argv0, cwd string, env map[string]string) (string, error) {
	if argv0 == "" {
		return "", refuse(notFound, unix.ENOENT, "argv[0] is empty")
	}
	if strings.Contains(argv0, "/") {
		return check(argv0, within(argv0, cwd))
	}
	path, ok := env["PATH"]
	if !ok {
		path = defaultPath
	}
	var denied error
	for dir := range strings.SplitSeq(path, ":") {
		file, err := check(argv0, within(dir, cwd)+"/"+argv0)
		if err == nil {
			return file, nil
		}
		var r *refusal
		// A directory of that name is no command; a file without the right to run it is the
		// answer unless a later entry has a better one.
		if denied == nil && errors.As(err, &r) && r.fault.Code == "EACCES" {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", refuse(notFound, unix.ENOENT, fmt.Sprintf("command %q is not in PATH %q", argv0, path))
}

// within keeps "." and ".." for the kernel to resolve: cleaning them is wrong beside links.
func within(path, cwd string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return cwd + "/" + path
}

func check(argv0, file string) (string, error) {
	st, err := os.Stat(file)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return "", refuse(notFound, err, fmt.Sprintf("command %q: %s does not exist", argv0, file))
	case err != nil:
		return "", refuse(notExecutable, err, fmt.Sprintf("command %q: %v", argv0, err))
	case st.IsDir():
		return "", refuse(notExecutable, unix.EISDIR, fmt.Sprintf("command %q: %s is a directory", argv0, file))
	}
	if err := unix.Access(file, unix.X_OK); err != nil {
		return "", refuse(notExecutable, err, fmt.Sprintf("command %q: %s is not executable: %v", argv0, file, err))
	}
	return file, nil
}

// explain turns the error of execve into a refusal. The kernel returns ENOENT also when the file is
// there but the program that must run it is not.
func explain(file string, err error) *refusal {
	switch {
	case errors.Is(err, unix.ENOENT):
		return refuse(notFound, err, missing(file))
	case errors.Is(err, unix.ENOEXEC):
		return refuse(notExecutable, err, file+" is neither a program for this machine nor a script with a #! line")
	}
	return refuse(notExecutable, err, fmt.Sprintf("%s: %v", file, err))
}

func missing(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return file + " does not exist"
	}
	defer f.Close()
	var head [256]byte
	n, _ := f.Read(head[:])
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	if script, ok := bytes.CutPrefix(line, []byte("#!")); ok {
		interpreter, _, _ := strings.Cut(strings.TrimSpace(string(script)), " ")
		return fmt.Sprintf("%s exists, but its interpreter %q does not", file, interpreter)
	}
	return file + " exists, but its dynamic loader does not: it was built for another C library"
}
