// Command runner is PID 1 of the user's container. LINK.md is its contract with the keeper.
package main

import (
	"fmt"
	"os"
	"runtime"

	"agentfleet.dev/runner/internal/files"
	"agentfleet.dev/runner/internal/overlay"
	"agentfleet.dev/runner/internal/serve"
	"agentfleet.dev/runner/internal/supervise"
)

// version is set by the linker.
var version = "dev"

const usage = `usage:
  runner serve          PID 1: dial the keeper at $AGENTFLEET_LINK with $AGENTFLEET_LINK_KEY
  runner install DIR    copy this program to DIR/runner
  runner files          look at trees and change them, as standard input asks
  runner mount PROGRAM… mount layers for the keeper, which it starts, and for the runner at $AGENTFLEET_MOUNTS
  runner version
`

// The main thread stays with the main goroutine, so that no restricted goroutine ever runs on
// it: the kernel takes the main thread's Landlock domain for the process's.
func init() { runtime.LockOSThread() }

func main() {
	code := make(chan int)
	go func() { code <- run(os.Args[1:]) }()
	os.Exit(<-code)
}

func run(args []string) int {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return serve.Main(version)
	case len(args) == 1 && args[0] == "supervise":
		return supervise.Main()
	case len(args) == 1 && args[0] == "version":
		fmt.Println(version)
		return 0
	case len(args) > 1 && args[0] == "mount":
		return overlay.Main(args[1:])
	case len(args) == 2 && args[0] == "install":
		if err := files.Install(args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "runner install:", err)
			return 1
		}
		return 0
	case len(args) == 1 && args[0] == "files":
		return files.Serve(os.Stdin, os.Stdout, os.Stderr)
	}
	fmt.Fprint(os.Stderr, usage)
	return 2
}
