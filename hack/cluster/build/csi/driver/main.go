// A CSI driver for tests on one node: a volume is a folder, a snapshot a copy of it. It registers itself with the
// kubelet. It enforces no sizes.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func main() {
	name := flag.String("name", "dir.csi.agentfleet.dev", "name of the driver")
	socket := flag.String("socket", "", "where the sidecars and the kubelet find the driver")
	registry := flag.String("registry", "", "folder in which the kubelet looks for plugins")
	state := flag.String("state", "", "folder of volumes and snapshots")
	node := flag.String("node", "", "name of the node")
	flag.Parse()

	shelf, err := openShelf(*state)
	if err != nil {
		log.Fatalf("state folder %s: %v", *state, err)
	}
	go serve(*socket, func(server *grpc.Server) {
		csi.RegisterIdentityServer(server, &identity{name: *name})
		csi.RegisterControllerServer(server, &controller{shelf: shelf})
		csi.RegisterNodeServer(server, &nodeServer{shelf: shelf, node: *node})
	})
	// The kubelet asks the driver as soon as it sees this socket; gRPC waits until the other one is there.
	serve(filepath.Join(*registry, *name+"-reg.sock"), func(server *grpc.Server) {
		registration.RegisterRegistrationServer(server, &registrar{name: *name, socket: *socket})
	})
}

// serve answers on a Unix socket until the process ends.
func serve(path string, register func(*grpc.Server)) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		log.Fatal(err)
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		log.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logged))
	register(server)
	log.Fatal(server.Serve(listener))
}

// logged reports every call that fails.
func logged(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	answer, err := handle(ctx, request)
	if err != nil {
		log.Printf("%s: %v", info.FullMethod, err)
	}
	return answer, err
}

// registrar is what the kubelet talks to first.
type registrar struct {
	registration.UnsafeRegistrationServer
	name, socket string
}

func (r *registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: registration.CSIPlugin, Name: r.name, Endpoint: r.socket, SupportedVersions: []string{"1.0.0"}}, nil
}

func (r *registrar) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		log.Printf("the kubelet did not register the driver: %s", status.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}
