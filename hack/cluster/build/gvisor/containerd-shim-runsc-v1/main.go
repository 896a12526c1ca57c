// Command containerd-shim-runsc-v1 is gVisor's shim for machines where no process may lower an OOM
// score: gVisor's own asks for -999 and gives up without CAP_SYS_RESOURCE. Everything but the start
// of the process is gVisor's.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/shim"
	v1 "gvisor.dev/gvisor/pkg/shim/v1"
	_ "gvisor.dev/gvisor/pkg/shim/v1/plugin"
)

const (
	runtime = "io.containerd.runsc.v1"
	// podAnnotation is what the CRI plugin writes on every container of a pod: they share one shim.
	podAnnotation = "io.kubernetes.cri.sandbox-id"
)

func main() {
	shim.Run(context.Background(), unprivileged{v1.NewShimManager(runtime)})
}

type unprivileged struct{ shim.Manager }

// Start finds the shim of the pod or starts it, in the bundle's folder, and returns the address that it listens on.
func (unprivileged) Start(ctx context.Context, id string, opts shim.StartOpts) (shim.BootstrapParams, error) {
	params := shim.BootstrapParams{Version: 2, Protocol: "ttrpc"}
	group, err := groupOf(id)
	if err != nil {
		return params, err
	}
	if params.Address, err = shim.SocketAddress(ctx, opts.Address, group, opts.Debug); err != nil {
		return params, err
	}
	listener, err := listen(params.Address)
	if err != nil {
		return params, err
	}
	// A process that restarts or deletes the shim looks for its address here.
	if err := os.WriteFile("address", []byte(params.Address), 0o644); err != nil || listener == nil {
		return params, err
	}
	pid, err := launch(ctx, id, opts, listener)
	if err != nil {
		return params, errors.Join(err, shim.RemoveSocket(params.Address))
	}
	if err := shim.AdjustOOMScore(pid); err != nil {
		fmt.Fprintf(os.Stderr, "the OOM score of the shim stays as it is: %v\n", err)
	}
	return params, shim.WritePidFile("shim.pid", pid)
}

// groupOf names what shares a shim: the pod, or a container without one.
func groupOf(id string) (string, error) {
	text, err := os.ReadFile("config.json")
	if err != nil {
		return "", err
	}
	var spec struct{ Annotations map[string]string }
	if err := json.Unmarshal(text, &spec); err != nil {
		return "", fmt.Errorf("config.json of the bundle: %w", err)
	}
	if pod := spec.Annotations[podAnnotation]; pod != "" {
		return pod, nil
	}
	return id, nil
}

// listen opens the socket; nil when a shim answers there already. One that died left a file behind.
func listen(address string) (*net.UnixListener, error) {
	listener, err := shim.NewSocket(address)
	if err == nil || !shim.SocketEaddrinuse(err) {
		return listener, err
	}
	if shim.CanConnect(address) {
		return nil, nil
	}
	if err := shim.RemoveSocket(address); err != nil {
		return nil, err
	}
	return shim.NewSocket(address)
}

// launch starts this program again as the shim that stays, and gives it the socket.
func launch(ctx context.Context, id string, opts shim.StartOpts, listener *net.UnixListener) (int, error) {
	namespace, err := namespaces.NamespaceRequired(ctx)
	if err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	socket, err := listener.File()
	if err != nil {
		return 0, err
	}
	defer socket.Close()
	args := []string{"-namespace", namespace, "-address", opts.Address, "-id", id}
	if opts.Debug {
		args = append(args, "-debug")
	}
	command := exec.Command(self, args...)
	command.Env = append(os.Environ(), "GOMAXPROCS=2")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.ExtraFiles = []*os.File{socket}
	if err := command.Start(); err != nil {
		return 0, err
	}
	pid := command.Process.Pid
	return pid, command.Process.Release()
}
