// Has the adapter do, at its build, what scenarios will: the JVM archives the classes for that.

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.TypeRegistry;
import com.google.protobuf.util.JsonFormat;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.stub.StreamObserver;
import io.grpc.xds.shaded.io.envoyproxy.envoy.config.cluster.v3.Cluster;
import io.grpc.xds.shaded.io.envoyproxy.envoy.config.endpoint.v3.ClusterLoadAssignment;
import io.grpc.xds.shaded.io.envoyproxy.envoy.config.listener.v3.Listener;
import io.grpc.xds.shaded.io.envoyproxy.envoy.config.route.v3.RouteConfiguration;
import io.grpc.xds.shaded.io.envoyproxy.envoy.extensions.filters.http.router.v3.Router;
import io.grpc.xds.shaded.io.envoyproxy.envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager;
import io.grpc.xds.shaded.io.envoyproxy.envoy.service.discovery.v3.AggregatedDiscoveryServiceGrpc;
import io.grpc.xds.shaded.io.envoyproxy.envoy.service.discovery.v3.DiscoveryRequest;
import io.grpc.xds.shaded.io.envoyproxy.envoy.service.discovery.v3.DiscoveryResponse;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

final class Training {
  static final String BOOTSTRAP =
      """
      {"xds_servers": [{"server_uri": "localhost:%d", "channel_creds": [{"type": "insecure"}],
        "server_features": ["xds_v3"]}], "node": {"id": "training"}}
      """;
  static final String OPEN =
      """
      {"type": "open_channel", "id": %d, "target": "%s", "options": {}}
      """;
  static final String START =
      """
      {"type": "start_calls", "id": 0, "channel": %d, "concurrency": 1, "pace": null, "calls": [
        {"id": "%1$d", "path": "/a.A/A", "metadata": [["a", "a"], ["a-bin", "YQ"]],
         "deadline": 10000000, "wait_for_ready": false, "kept_open": false}]}
      """;
  static final String LISTENER =
      """
      {"name": "training", "api_listener": {"api_listener": {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.\
      http_connection_manager.v3.HttpConnectionManager",
        "rds": {"config_source": {"ads": {}}, "route_config_name": "route"},
        "http_filters": [{"name": "router", "typed_config": {
          "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}]}}}
      """;
  static final String ROUTES =
      """
      {"name": "route", "virtual_hosts": [{"name": "host", "domains": ["*"], "routes": [
        {"match": {"prefix": ""},
         "route": {"cluster": "cluster", "hash_policy": [{"header": {"header_name": "a"}}]}}]}]}
      """;
  static final String CLUSTER =
      """
      {"name": "cluster", "type": "EDS", "eds_cluster_config": {"eds_config": {"ads": {}}},
        "lb_policy": "RING_HASH", "ring_hash_lb_config": {"minimum_ring_size": 16}}
      """;
  static final String ENDPOINTS =
      """
      {"cluster_name": "cluster", "endpoints": [
        {"locality": {"region": "a"}, "load_balancing_weight": 1, "lb_endpoints": [
          {"endpoint": {"address": {
            "socket_address": {"address": "127.0.0.1", "port_value": %d}}}}]}]}
      """;

  /** The arguments are jars whose classes are loaded one and all. */
  public static void main(String[] jars) throws Exception {
    for (String jar : jars) {
      try (var file = new JarFile(jar)) {
        file.stream().map(JarEntry::getName).forEach(Training::load);
      }
    }
    // Serves one cluster, of itself, and refuses every call there.
    var resources = new Resources();
    var credentials = InsecureServerCredentials.create();
    Server server =
        Grpc.newServerBuilderForPort(0, credentials).addService(resources).build().start();
    resources.known =
        List.of(
            made(LISTENER, Listener.newBuilder()),
            made(ROUTES, RouteConfiguration.newBuilder()),
            made(CLUSTER, Cluster.newBuilder()),
            made(ENDPOINTS.formatted(server.getPort()), ClusterLoadAssignment.newBuilder()));
    System.setProperty("io.grpc.xds.bootstrapConfig", BOOTSTRAP.formatted(server.getPort()));
    Adapter.begin(read("{\"type\": \"hello\", \"id\": 0}"));
    call(1, "localhost:" + server.getPort());
    call(2, "xds:///training");
    System.exit(0);
  }

  static Any made(String json, Message.Builder message) throws InvalidProtocolBufferException {
    var types =
        TypeRegistry.newBuilder()
            .add(List.of(HttpConnectionManager.getDescriptor(), Router.getDescriptor()))
            .build();
    JsonFormat.parser().usingTypeRegistry(types).merge(json, message);
    return Any.pack(message.build());
  }

  /** Answers each request with what there is of its kind. */
  static final class Resources
      extends AggregatedDiscoveryServiceGrpc.AggregatedDiscoveryServiceImplBase {
    List<Any> known;

    @Override
    public StreamObserver<DiscoveryRequest> streamAggregatedResources(
        StreamObserver<DiscoveryResponse> responses) {
      return new StreamObserver<>() {
        @Override
        public void onNext(DiscoveryRequest request) {
          if (request.getResponseNonce().isEmpty()) {
            String kind = request.getTypeUrl();
            var response = DiscoveryResponse.newBuilder().setVersionInfo("1").setNonce("1");
            known.stream()
                .filter(one -> one.getTypeUrl().equals(kind))
                .forEach(response::addResources);
            responses.onNext(response.setTypeUrl(kind).build());
          }
        }

        @Override
        public void onError(Throwable trouble) {}

        @Override
        public void onCompleted() {}
      };
    }
  }

  static void call(int number, String target) throws InterruptedException {
    var over = new CountDownLatch(1);
    Adapter.begin(read(OPEN.formatted(number, target)));
    Adapter.start(read(START.formatted(number)), over::countDown);
    over.await();
  }

  static Adapter.Request read(String request) {
    return Adapter.JSON.fromJson(request, Adapter.Request.class);
  }

  static void load(String entry) {
    if (entry.endsWith(".class") && !entry.startsWith("META-INF/")) {
      String name = entry.replaceFirst(".class$", "").replace('/', '.');
      try {
        Class.forName(name, false, Training.class.getClassLoader());
      } catch (LinkageError | ClassNotFoundException absent) {
        // It needs something that is optional, and not there.
      }
    }
  }
}
