package main

import (
	"context"
	"errors"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type identity struct {
	csi.UnimplementedIdentityServer
	name string
}

func (i *identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: i.name, VendorVersion: "1"}, nil
}

func (i *identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (i *identity) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	capability := &csi.PluginCapability{Type: &csi.PluginCapability_Service_{Service: service}}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{capability}}, nil
}

type controller struct {
	csi.UnimplementedControllerServer
	shelf *shelf
}

func (c *controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
	} {
		rpc := &csi.ControllerServiceCapability_RPC{Type: kind}
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{Rpc: rpc}})
	}
	return answer, nil
}

func (c *controller) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if request.Name == "" || len(request.VolumeCapabilities) == 0 {
		return nil, status.Error(codes.InvalidArgument, "a volume needs a name and capabilities")
	}
	source := ""
	if content := request.GetVolumeContentSource(); content != nil {
		source = content.GetSnapshot().GetSnapshotId()
		if _, ok := c.shelf.find(source); !ok {
			return nil, status.Errorf(codes.NotFound, "there is no snapshot %q", source)
		}
	}
	size := request.GetCapacityRange().GetRequiredBytes()
	id := idOf("vol-", request.Name)
	if _, err := c.shelf.put(id, entry{Name: request.Name, Source: source, Size: size}); err != nil {
		return nil, answerTo(err)
	}
	volume := &csi.Volume{VolumeId: id, CapacityBytes: size, ContentSource: request.VolumeContentSource}
	return &csi.CreateVolumeResponse{Volume: volume}, nil
}

func (c *controller) DeleteVolume(_ context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, status.Error(codes.InvalidArgument, "a volume id is missing")
	}
	if err := c.shelf.drop(request.VolumeId); err != nil {
		return nil, answerTo(err)
	}
	return &csi.DeleteVolumeResponse{}, nil
}

func (c *controller) ValidateVolumeCapabilities(_ context.Context, request *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if request.VolumeId == "" || len(request.VolumeCapabilities) == 0 {
		return nil, status.Error(codes.InvalidArgument, "a volume id and capabilities are needed")
	}
	if _, ok := c.shelf.find(request.VolumeId); !ok {
		return nil, status.Errorf(codes.NotFound, "there is no volume %q", request.VolumeId)
	}
	confirmed := &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: request.VolumeCapabilities}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: confirmed}, nil
}

func (c *controller) CreateSnapshot(_ context.Context, request *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	if request.Name == "" || request.SourceVolumeId == "" {
		return nil, status.Error(codes.InvalidArgument, "a snapshot needs a name and a volume id")
	}
	volume, ok := c.shelf.find(request.SourceVolumeId)
	if !ok {
		return nil, status.Errorf(codes.NotFound, "there is no volume %q", request.SourceVolumeId)
	}
	id := idOf("snap-", request.Name)
	made, err := c.shelf.put(id, entry{Name: request.Name, Source: request.SourceVolumeId, Size: volume.Size})
	if err != nil {
		return nil, answerTo(err)
	}
	return &csi.CreateSnapshotResponse{Snapshot: &csi.Snapshot{
		SnapshotId: id, SourceVolumeId: made.Source, SizeBytes: made.Size, CreationTime: timestamppb.New(made.Made), ReadyToUse: true,
	}}, nil
}

func (c *controller) DeleteSnapshot(_ context.Context, request *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	if request.SnapshotId == "" {
		return nil, status.Error(codes.InvalidArgument, "a snapshot id is missing")
	}
	if err := c.shelf.drop(request.SnapshotId); err != nil {
		return nil, answerTo(err)
	}
	return &csi.DeleteSnapshotResponse{}, nil
}

func answerTo(err error) error {
	if errors.Is(err, errOther) {
		return status.Error(codes.AlreadyExists, err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}
