package link

import "time"

// Exec starts one command. Env is complete: nothing is inherited.
type Exec struct {
	T                string            `json:"t"`
	ID               string            `json:"id"`
	Argv             []string          `json:"argv"`
	Env              map[string]string `json:"env"`
	Cwd              string            `json:"cwd"`
	TimeoutMs        int64             `json:"timeoutMs"`
	GraceMs          int64             `json:"graceMs"`
	Limits           Limits            `json:"limits"`
	Writable         []string          `json:"writable"`
	Network          string            `json:"network"`
	OutputLimitBytes int64             `json:"outputLimitBytes"`
	// StdinOpen keeps standard input open for stdin frames; the body is then empty.
	StdinOpen bool `json:"stdinOpen,omitempty"`
	// Pty runs the command on a separate terminal; both outputs arrive as stdout.
	Pty *Pty `json:"pty,omitempty"`
	// ReadOnly takes every right to write files away; Writable is ignored.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Trace asks for the commands of its descendants.
	Trace bool `json:"trace,omitempty"`
	// Scratch leaves the right to write below /tmp and /dev/shm to one that is ReadOnly.
	Scratch bool `json:"scratch,omitempty"`
}

// Pty is the size of a terminal; Number is filled in by PID 1, which makes it.
type Pty struct {
	Rows    uint16 `json:"rows"`
	Columns uint16 `json:"columns"`
	Number  uint32 `json:"number,omitempty"`
}

// Stdin carries input in its body; its answer is the same frame with Code.
type Stdin struct {
	T   string `json:"t"`
	ID  string `json:"id"`
	Seq int64  `json:"seq"`
	EOF bool   `json:"eof,omitempty"`
	// Code is empty when the bytes were taken, else EAGAIN, EPIPE or ESRCH.
	Code string `json:"code,omitempty"`
}

// Resize sets the size of a command's terminal.
type Resize struct {
	T       string `json:"t"`
	ID      string `json:"id"`
	Rows    uint16 `json:"rows"`
	Columns uint16 `json:"columns"`
}

// Run runs the body as a command of an open session.
type Run struct {
	T                string `json:"t"`
	ID               string `json:"id"`
	Session          string `json:"session"`
	TimeoutMs        int64  `json:"timeoutMs"`
	GraceMs          int64  `json:"graceMs"`
	OutputLimitBytes int64  `json:"outputLimitBytes"`
}

// ByID is a frame about one command or session.
type ByID struct {
	T  string `json:"t"`
	ID string `json:"id"`
}

// Opened reports that the shell of a session waits for commands.
type Opened struct {
	T     string `json:"t"`
	ID    string `json:"id"`
	PID   int    `json:"pid"`
	Shell string `json:"shell"`
}

// Closed reports that no process of a session is left.
type Closed struct {
	T     string `json:"t"`
	ID    string `json:"id"`
	Error *Fault `json:"error,omitempty"`
}

// ShellState is the state of a session after a run. The frame's body is the output of `export -p`.
type ShellState struct {
	Alive bool   `json:"alive"`
	Cwd   string `json:"cwd,omitempty"`
}

// Limits are the limits of one command; nil means the runner's default or none.
type Limits struct {
	CPUSeconds    *uint64 `json:"cpuSeconds,omitempty"`
	DataBytes     *uint64 `json:"dataBytes,omitempty"`
	FileSizeBytes *uint64 `json:"fileSizeBytes,omitempty"`
	OpenFiles     *uint64 `json:"openFiles,omitempty"`
	Processes     *int    `json:"processes,omitempty"`
}

// Kill ends a command: TERM to its tree, GraceMs later KILL.
type Kill struct {
	T       string `json:"t"`
	ID      string `json:"id"`
	Reason  string `json:"reason"`
	GraceMs *int64 `json:"graceMs,omitempty"`
}

// Grace is how long after TERM the tree is killed; own is that of the command, in milliseconds.
func (k Kill) Grace(own int64) time.Duration {
	if k.GraceMs != nil {
		own = *k.GraceMs
	}
	return time.Duration(own) * time.Millisecond
}

// Exit ends the whole container with Code.
type Exit struct {
	T    string `json:"t"`
	Code int    `json:"code"`
}

// Ping and its answer carry only an id, which may be any JSON value.
type Ping struct {
	T  string `json:"t"`
	ID any    `json:"id,omitempty"`
}

// Start reports that the command was executed.
type Start struct {
	T   string `json:"t"`
	ID  string `json:"id"`
	PID int    `json:"pid"`
	// Shell is the program of a session.
	Shell string `json:"shell,omitempty"`
}

// Out carries output of one stream in its body.
type Out struct {
	T      string `json:"t"`
	ID     string `json:"id"`
	Stream string `json:"stream"`
}

// Streams counts bytes per stream.
type Streams struct {
	Stdout int64 `json:"stdout"`
	Stderr int64 `json:"stderr"`
}

// Fault is an errno name, or a code of the runner, with a message.
type Fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// End is the last frame of a command: none of its processes is left.
type End struct {
	T           string  `json:"t"`
	ID          string  `json:"id"`
	ExitCode    *int    `json:"exitCode"`
	Signal      *string `json:"signal"`
	TimedOut    bool    `json:"timedOut"`
	Killed      *string `json:"killed"`
	OOM         *bool   `json:"oom"`
	DurationMs  int64   `json:"durationMs"`
	CPUMs       int64   `json:"cpuMs"`
	MaxRSSBytes int64   `json:"maxRssBytes"`
	Bytes       Streams `json:"bytes"`
	Dropped     Streams `json:"dropped"`
	Swept       int     `json:"swept"`
	Error       *Fault  `json:"error,omitempty"`
	// Session is there for runs of a session only.
	Session *ShellState `json:"session,omitempty"`
	// Commands are those of descendants that were seen, where the frame asked for them; More counts those that found no room.
	Commands []Seen `json:"commands,omitempty"`
	More     int    `json:"moreCommands,omitempty"`
}

// Seen is a command of a descendant.
type Seen struct {
	PID    int      `json:"pid"`
	Parent int      `json:"parent"`
	AtMs   int64    `json:"atMs"`
	Argv   []string `json:"argv"`
}

// Error answers a frame that could not be obeyed.
type Error struct {
	T       string `json:"t"`
	ID      string `json:"id,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Info reports the container's properties as they were probed, not as they were requested.
type Info struct {
	T             string `json:"t"`
	Version       string `json:"version"`
	CapEff        string `json:"capEff"`
	NoNewPrivs    bool   `json:"noNewPrivs"`
	Seccomp       int    `json:"seccomp"`
	Dumpable      bool   `json:"dumpable"`
	UserNamespace bool   `json:"userNamespace"`
	LandlockABI   int    `json:"landlockABI"`
	Terminals     bool   `json:"terminals"`
	// Layered: the roots are mounts that the keeper has handed over.
	Layered bool   `json:"layered"`
	Guest   string `json:"guest"`
	Probe   Probe  `json:"probe"`
}

// Probe holds what a thread under the full restrictions was able to do.
type Probe struct {
	SeccompDenies  bool `json:"seccompDenies"`
	LandlockDenies bool `json:"landlockDenies"`
	StoreAbsent    bool `json:"storeAbsent"`
	// Powerless: without any capability.
	Powerless bool   `json:"powerless"`
	Error     string `json:"error,omitempty"`
}
