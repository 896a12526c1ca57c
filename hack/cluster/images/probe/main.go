// Command probe serves or dials TCP from inside a pod, so that a test can see what the network lets through.
//
//	probe serve :8080        prints the user namespace map, then accepts and closes connections
//	probe dial host:port     prints "open" or "closed" once the answer has been the same five times in a row
package main

import (
	"fmt"
	"net"
	"os"
	"time"
)

const (
	dialTimeout = 500 * time.Millisecond
	pause       = 200 * time.Millisecond
	patience    = 20 * time.Second
	agreement   = 5
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: probe serve ADDRESS | probe dial ADDRESS")
		os.Exit(2)
	}
	var err error
	switch os.Args[1] {
	case "serve":
		err = serve(os.Args[2])
	case "dial":
		err = dial(os.Args[2])
	default:
		err = fmt.Errorf("unknown command %q", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address string) error {
	uidMap, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return err
	}
	fmt.Printf("uid_map %s", uidMap)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		connection.Close()
	}
}

// dial asks until five answers in a row agree: the first packets of a new pod may pass or fail
// before the enforcer has seen it, and neither says anything about the policy.
func dial(address string) error {
	answers, last := 0, ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pause) {
		answer := "open"
		connection, err := net.DialTimeout("tcp", address, dialTimeout)
		if err != nil {
			answer = "closed"
		} else {
			connection.Close()
		}
		if answer == last {
			answers++
		} else {
			answers, last = 1, answer
		}
		if answers == agreement {
			fmt.Println(answer)
			return nil
		}
	}
	return fmt.Errorf("answers for %s never agreed", address)
}
