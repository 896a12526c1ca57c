package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// machine is a processor architecture as a filter sees it.
type machine struct {
	audit  uint32
	column int
}

// The two that images are built for. The filter of each is generated, and tried by an interpreter,
// on the other one too.
var (
	amd64 = machine{unix.AUDIT_ARCH_X86_64, 0}
	arm64 = machine{unix.AUDIT_ARCH_AARCH64, 1}
)

// foreignNumbers is where the numbers of x32 start, a second door to every system call of amd64.
// Nothing is this large on arm64.
const foreignNumbers = 0x40000000

// numbers are those of the kernel's headers; x/sys has only the ones of the architecture that it
// is compiled for.
type numbers [2]uint32

// refused calls end in EPERM for all arguments. RuntimeDefault refuses some of them too; the node's
// profile is unknown, so all are listed.
var refused = map[string]numbers{
	"ptrace":            {101, 117},
	"process_vm_readv":  {310, 270},
	"process_vm_writev": {311, 271},
	"kcmp":              {312, 272},
	"pidfd_getfd":       {438, 438},
	"mount":             {165, 40},
	"umount2":           {166, 39},
	"pivot_root":        {155, 41},
	"fsopen":            {430, 430},
	"fsconfig":          {431, 431},
	"fsmount":           {432, 432},
	"fspick":            {433, 433},
	"move_mount":        {429, 429},
	"open_tree":         {428, 428},
	"open_tree_attr":    {467, 467},
	"mount_setattr":     {442, 442},
	"unshare":           {272, 97},
	"setns":             {308, 268},
	"keyctl":            {250, 219},
	"add_key":           {248, 217},
	"request_key":       {249, 218},
	"bpf":               {321, 280},
	"perf_event_open":   {298, 241},
	"userfaultfd":       {323, 282},
	"io_uring_setup":    {425, 425},
	"io_uring_enter":    {426, 426},
	"io_uring_register": {427, 427},
	"kexec_load":        {246, 104},
	"kexec_file_load":   {320, 294},
	"init_module":       {175, 105},
	"finit_module":      {313, 273},
	"delete_module":     {176, 106},
	"open_by_handle_at": {304, 265},
}

// judged are allowed or refused by their arguments.
var judged = map[string]numbers{
	"clone3":     {435, 435},
	"clone":      {56, 220},
	"ioctl":      {16, 29},
	"socket":     {41, 198},
	"socketpair": {53, 199},
	"prlimit64":  {302, 261},

	"sched_setparam":     {142, 118},
	"sched_setscheduler": {144, 119},
	"sched_setattr":      {314, 274},
	"sched_setaffinity":  {203, 122},
	"setpriority":        {141, 140},
	"ioprio_set":         {251, 30},
	"migrate_pages":      {256, 238},
	"move_pages":         {279, 239},
}

// scheduling are calls that change another thread's share of the machine by its number, the first
// argument; the kernel asks only for the same uid.
var scheduling = []string{
	"sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity", "migrate_pages", "move_pages",
}

func (m machine) judged(name string) uint32 { return judged[name][m.column] }

// refused are in the order of their numbers, so that equal inputs give equal programs.
func (m machine) refused() []uint32 {
	all := make([]uint32, 0, len(refused))
	for _, n := range refused {
		all = append(all, n[m.column])
	}
	slices.Sort(all)
	return all
}
