// Command tryer is the only program of a user's image without a shell: it tries each operation of
// its arguments and prints one word for each.
//
//	tryer who            uid, HOME, working folder
//	tryer write PATH…    ok, or why a file could not be made there
//	tryer stay           waits for its end
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	switch os.Args[1] {
	case "who":
		cwd, _ := os.Getwd()
		fmt.Println(os.Getuid(), os.Getenv("HOME"), cwd)
	case "write":
		for _, folder := range os.Args[2:] {
			fmt.Println(folder, write(folder))
		}
	case "stay":
		time.Sleep(time.Hour)
	default:
		os.Exit(2)
	}
}

func write(folder string) string {
	err := os.WriteFile(filepath.Join(folder, "tried"), []byte("x"), 0o644)
	var number syscall.Errno
	if errors.As(err, &number) {
		return map[syscall.Errno]string{syscall.EACCES: "EACCES", syscall.EROFS: "EROFS", syscall.ENOENT: "ENOENT"}[number]
	}
	if err != nil {
		return err.Error()
	}
	return "ok"
}
