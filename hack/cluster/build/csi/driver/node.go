package main

import (
	"context"
	"os"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type nodeServer struct {
	csi.UnimplementedNodeServer
	shelf *shelf
	node  string
}

func (n *nodeServer) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: n.node}, nil
}

func (n *nodeServer) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume binds the folder of the volume to where the kubelet wants it.
func (n *nodeServer) NodePublishVolume(_ context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if request.VolumeId == "" || request.TargetPath == "" || request.VolumeCapability == nil {
		return nil, status.Error(codes.InvalidArgument, "a volume id, a target and a capability are needed")
	}
	if _, ok := n.shelf.find(request.VolumeId); !ok {
		return nil, status.Errorf(codes.NotFound, "there is no volume %q", request.VolumeId)
	}
	if err := os.MkdirAll(request.TargetPath, 0o750); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if isMounted(request.TargetPath) {
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if err := unix.Mount(n.shelf.path(request.VolumeId), request.TargetPath, "", unix.MS_BIND, ""); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if !request.Readonly {
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if err := unix.Mount("", request.TargetPath, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func (n *nodeServer) NodeUnpublishVolume(_ context.Context, request *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	if request.VolumeId == "" || request.TargetPath == "" {
		return nil, status.Error(codes.InvalidArgument, "a volume id and a target are needed")
	}
	for isMounted(request.TargetPath) {
		if err := unix.Unmount(request.TargetPath, 0); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	if err := os.Remove(request.TargetPath); err != nil && !os.IsNotExist(err) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

func isMounted(path string) bool {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == path {
			return true
		}
	}
	return false
}
