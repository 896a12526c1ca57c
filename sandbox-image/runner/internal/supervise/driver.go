package supervise

import (
	_ "embed"
	"path/filepath"
)

// The shell of a session runs one of these loops. It reads a run's number, how many lines the
// command has, and the command from descriptor 3; it reports the result on descriptor 4. Both are
// closed to its children. Run 0 restores the variables of an earlier shell.
//
// Signal URG, which a shell ignores by default, ends the command: bash unwinds its functions and
// stays; other shells cannot, so they report their state and end.
var (
	//go:embed driver.bash
	bashDriver string
	//go:embed driver.sh
	shDriver string
)

// driver is the program for a shell of this name.
func driver(shell string) string {
	if filepath.Base(shell) == "bash" {
		return bashDriver
	}
	return shDriver
}
