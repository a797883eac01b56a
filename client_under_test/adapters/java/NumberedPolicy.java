import io.grpc.EquivalentAddressGroup;
import io.grpc.LoadBalancer;
import io.grpc.LoadBalancerProvider;
import io.grpc.LoadBalancerRegistry;
import io.grpc.NameResolver.ConfigOrError;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** A policy as register_policy wants it: it picks an endpoint by its number. */
final class NumberedPolicy extends LoadBalancerProvider {
  static final AtomicInteger INSTANCES = new AtomicInteger(); // of the whole process

  final int request;
  final String name;

  NumberedPolicy(int request, String name) {
    this.request = request;
    this.name = name;
  }

  record Config(String given, double endpoint) {}

  @Override
  public boolean isAvailable() {
    return true;
  }

  @Override
  public int getPriority() {
    return 5;
  }

  @Override
  public String getPolicyName() {
    return name;
  }

  @Override
  public ConfigOrError parseLoadBalancingPolicyConfig(Map<String, ?> given) {
    Object endpoint = given.containsKey("endpoint") ? given.get("endpoint") : 0.0;
    if (endpoint instanceof Double number && number >= 0 && number % 1 == 0) {
      return ConfigOrError.fromConfig(new Config(Adapter.JSON.toJson(given), number));
    }
    String words = "endpoint " + endpoint + " is no whole number from 0 on";
    return ConfigOrError.fromError(Status.INVALID_ARGUMENT.withDescription(words));
  }

  @Override
  public LoadBalancer newLoadBalancer(LoadBalancer.Helper helper) {
    var pickFirst = LoadBalancerRegistry.getDefaultRegistry().getProvider("pick_first");
    return new Instance(pickFirst.newLoadBalancer(helper));
  }

  /** Hands all that it is told to pick_first, but of the endpoints one alone. */
  final class Instance extends LoadBalancer {
    final int number = INSTANCES.incrementAndGet();
    final LoadBalancer below;

    Instance(LoadBalancer below) {
      this.below = below;
    }

    @Override
    public void handleResolvedAddresses(ResolvedAddresses update) {
      var config = (Config) update.getLoadBalancingPolicyConfig();
      List<EquivalentAddressGroup> endpoints = update.getAddresses();
      Adapter.say("policy_update", "policy", request, "instance", number, "config", config.given,
          "endpoints", endpoints.stream().map(Instance::addresses).toList(), "at", Adapter.now());
      if (!endpoints.isEmpty()) {
        int chosen = (int) (config.endpoint % endpoints.size());
        endpoints = endpoints.subList(chosen, chosen + 1);
      }
      below.handleResolvedAddresses(
          update.toBuilder().setAddresses(endpoints).setLoadBalancingPolicyConfig(null).build());
    }

    static List<String> addresses(EquivalentAddressGroup endpoint) {
      return endpoint.getAddresses().stream().map(Instance::text).toList();
    }

    static String text(SocketAddress address) {
      var known = (InetSocketAddress) address;
      String host = known.getAddress().getHostAddress();
      return (host.contains(":") ? "[" + host + "]" : host) + ":" + known.getPort();
    }

    @Override
    public void handleNameResolutionError(Status error) {
      below.handleNameResolutionError(error);
    }

    @Override
    public boolean canHandleEmptyAddressListFromNameResolution() {
      return true;
    }

    @Override
    public void requestConnection() {
      below.requestConnection();
    }

    @Override
    public void shutdown() {
      below.shutdown();
    }
  }
}
