package fakexds_test

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	clusterpb "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerpb "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routepb "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerpb "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	managerpb "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"xdspec/fakexds"
	"xdspec/fakexds/controlpb"
)

func TestCallsReachTheBackendInTheEndpoints(t *testing.T) {
	servers := fakexds.New(t, fakexds.Config{Backends: 2})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	push, err := servers.Set(ctx, append(service("service"), endpoints("service", servers.Backends[0]))...)
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, servers, "service")
	if got := call(ctx, t, conn); got != servers.Backends[0] {
		t.Errorf("the call went to %s, want %s", got, servers.Backends[0])
	}
	// The client acknowledged the endpoints.
	if _, err := servers.Wait(ctx, push.Since, func(event *controlpb.Event) bool {
		return event.GetRequest().GetAnswer() == controlpb.Event_ACK &&
			event.GetRequest().GetTypeUrl() == "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	}); err != nil {
		t.Error(err)
	}
	// Move the service; calls follow.
	if _, err := servers.Set(ctx, endpoints("service", servers.Backends[1])); err != nil {
		t.Fatal(err)
	}
	for call(ctx, t, conn) != servers.Backends[1] {
	}
}

func TestAClientWithoutItsClusterFailsCalls(t *testing.T) {
	servers := fakexds.New(t, fakexds.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := servers.Set(ctx, append(service("service"), endpoints("service", servers.Backends[0]))...); err != nil {
		t.Fatal(err)
	}
	conn := dial(t, servers, "service")
	call(ctx, t, conn)
	if _, err := servers.Client.Delete(ctx, &controlpb.DeleteRequest{Kind: controlpb.Kind_CLUSTER, Names: []string{"service"}}); err != nil {
		t.Fatal(err)
	}
	for {
		err := conn.Invoke(ctx, "/grpc.testing.TestService/UnaryCall", &emptypb.Empty{}, &emptypb.Empty{})
		if code := status.Code(err); code == codes.Unavailable {
			return
		} else if code != codes.OK {
			t.Fatal(err)
		}
	}
}

func dial(t *testing.T, servers *fakexds.Servers, target string) *grpc.ClientConn {
	t.Helper()
	builder, err := servers.Resolver("my-node")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("xds:///"+target,
		grpc.WithResolvers(builder), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// call makes a call and returns the address of the backend that answered.
func call(ctx context.Context, t *testing.T, conn *grpc.ClientConn) string {
	t.Helper()
	var header metadata.MD
	err := conn.Invoke(ctx, "/grpc.testing.TestService/UnaryCall", &emptypb.Empty{}, &emptypb.Empty{}, grpc.Header(&header))
	if err != nil {
		t.Fatal(err)
	}
	return header.Get("hostname")[0]
}

// service returns a Listener, a route and a Cluster of one name, without endpoints.
func service(name string) []proto.Message {
	ads := &corepb.ConfigSource{ConfigSourceSpecifier: &corepb.ConfigSource_Ads{Ads: &corepb.AggregatedConfigSource{}}}
	manager := &managerpb.HttpConnectionManager{
		RouteSpecifier: &managerpb.HttpConnectionManager_RouteConfig{RouteConfig: &routepb.RouteConfiguration{
			Name: name,
			VirtualHosts: []*routepb.VirtualHost{{Name: name, Domains: []string{"*"}, Routes: []*routepb.Route{{
				Match: &routepb.RouteMatch{PathSpecifier: &routepb.RouteMatch_Prefix{Prefix: ""}},
				Action: &routepb.Route_Route{Route: &routepb.RouteAction{
					ClusterSpecifier: &routepb.RouteAction_Cluster{Cluster: name}}},
			}}}},
		}},
		HttpFilters: []*managerpb.HttpFilter{{
			Name:       "router",
			ConfigType: &managerpb.HttpFilter_TypedConfig{TypedConfig: pack(&routerpb.Router{})},
		}},
	}
	return []proto.Message{
		&listenerpb.Listener{Name: name, ApiListener: &listenerpb.ApiListener{ApiListener: pack(manager)}},
		&clusterpb.Cluster{
			Name:                 name,
			ClusterDiscoveryType: &clusterpb.Cluster_Type{Type: clusterpb.Cluster_EDS},
			EdsClusterConfig:     &clusterpb.Cluster_EdsClusterConfig{EdsConfig: ads},
		},
	}
}

func endpoints(cluster, address string) *endpointpb.ClusterLoadAssignment {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		panic(err)
	}
	port, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		panic(err)
	}
	return &endpointpb.ClusterLoadAssignment{
		ClusterName: cluster,
		Endpoints: []*endpointpb.LocalityLbEndpoints{{
			Locality:            &corepb.Locality{Region: "local"},
			LoadBalancingWeight: wrapperspb.UInt32(1),
			LbEndpoints: []*endpointpb.LbEndpoint{{HostIdentifier: &endpointpb.LbEndpoint_Endpoint{
				Endpoint: &endpointpb.Endpoint{Address: &corepb.Address{Address: &corepb.Address_SocketAddress{
					SocketAddress: &corepb.SocketAddress{
						Address:       host,
						PortSpecifier: &corepb.SocketAddress_PortValue{PortValue: uint32(port)},
					}}}}}}},
		}},
	}
}

func pack(message proto.Message) *anypb.Any {
	packed, err := anypb.New(message)
	if err != nil {
		panic(err)
	}
	return packed
}
