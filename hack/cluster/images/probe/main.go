// Command probe serves or dials TCP from inside a pod, so that a test can see what the network lets through.
//
//	probe serve :8080                     prints the user namespace map, then accepts and closes connections
//	probe dial host:port open|closed      waits until the answer has been the expected one ten times in a row
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
	agreement   = 10
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(args[1])
	case len(args) == 3 && args[0] == "dial":
		return dial(args[1], args[2])
	default:
		return fmt.Errorf("usage: probe serve ADDRESS | probe dial ADDRESS open|closed")
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

// dial repeats until ten answers in a row are the expected one: the first packets of a new pod may
// pass or fail before the enforcer has seen it, and neither proves anything about the policy.
func dial(address, expected string) error {
	answers, last := 0, "nothing"
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pause) {
		last = answer(address)
		if last != expected {
			answers = 0
			continue
		}
		if answers++; answers == agreement {
			return nil
		}
	}
	return fmt.Errorf("%s was not %s for long, lastly %s", address, expected, last)
}

func answer(address string) string {
	connection, err := net.DialTimeout("tcp", address, dialTimeout)
	if err != nil {
		return "closed"
	}
	connection.Close()
	return "open"
}
