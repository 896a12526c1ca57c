package link

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

// Start says that the command was executed.
type Start struct {
	T   string `json:"t"`
	ID  string `json:"id"`
	PID int    `json:"pid"`
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

// Fault is an errno name, or a word of ours, with a sentence.
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
}

// Error answers a frame that could not be obeyed.
type Error struct {
	T       string `json:"t"`
	ID      string `json:"id,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Info tells the keeper what this container really is: what was tried, not what was asked for.
type Info struct {
	T             string `json:"t"`
	Version       string `json:"version"`
	Arch          string `json:"arch"`
	Kernel        string `json:"kernel"`
	PID           int    `json:"pid"`
	UID           int    `json:"uid"`
	GID           int    `json:"gid"`
	CapEff        string `json:"capEff"`
	NoNewPrivs    bool   `json:"noNewPrivs"`
	Seccomp       int    `json:"seccomp"`
	Dumpable      bool   `json:"dumpable"`
	UserNamespace bool   `json:"userNamespace"`
	LandlockABI   int    `json:"landlockABI"`
	Guest         string `json:"guest"`
	Probe         Probe  `json:"probe"`
	Cgroup        Cgroup `json:"cgroup"`
}

// Probe holds what a thread under the full restrictions could and could not do.
type Probe struct {
	SeccompDenies  bool   `json:"seccompDenies"`
	LandlockDenies bool   `json:"landlockDenies"`
	StoreAbsent    bool   `json:"storeAbsent"`
	Error          string `json:"error,omitempty"`
}

// Cgroup is what the container can see of its own control group; Version 0 = nothing.
type Cgroup struct {
	Version          int    `json:"version"`
	MemoryLimitBytes *int64 `json:"memoryLimitBytes,omitempty"`
	OOMKills         *int64 `json:"oomKills,omitempty"`
}
