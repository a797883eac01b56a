package main

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const service = "xdspec.control.v1.Control"

// Asks for a method of the control service, which describes itself: no code is generated. With
// code from control.proto it is `pb.NewControlClient(conn).Inject(ctx, &pb.Fault{…})`.
func control(address, name, request string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	method, err := describe(ctx, conn, protoreflect.Name(name))
	if err != nil {
		return err
	}
	asked := dynamicpb.NewMessage(method.Input())
	if err := protojson.Unmarshal([]byte(request), asked); err != nil {
		return err
	}
	// As a stream, though most methods have one answer: Transcript goes on until it is cancelled.
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+service+"/"+name)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(asked); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		answer := dynamicpb.NewMessage(method.Output())
		switch err := stream.RecvMsg(answer); err {
		case nil:
			fmt.Println(protojson.Format(answer))
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}

// The method of this name, as server reflection tells of it.
func describe(ctx context.Context, conn *grpc.ClientConn, name protoreflect.Name) (protoreflect.MethodDescriptor, error) {
	stream, err := reflection.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		return nil, err
	}
	if err := stream.Send(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service},
	}); err != nil {
		return nil, err
	}
	answer, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	for _, bytes := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(bytes, file); err != nil {
			return nil, err
		}
		set.File = append(set.File, file)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	found, err := files.FindDescriptorByName(service)
	if err != nil {
		return nil, err
	}
	method := found.(protoreflect.ServiceDescriptor).Methods().ByName(name)
	if method == nil {
		return nil, fmt.Errorf("%s has no method %s", service, name)
	}
	return method, nil
}
