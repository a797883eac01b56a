// Drives grpc-java for the suite: JSON lines on stdin and stdout, as ../contract.md says.

import static com.google.gson.FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.MICROSECONDS;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.reflect.TypeToken;
import io.grpc.ConnectivityState;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.LoadBalancerRegistry;
import io.grpc.ManagedChannel;
import io.grpc.NameResolverRegistry;
import io.grpc.xds.RingHashOptions;
import io.grpc.xds.XdsNameResolverProvider;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

final class Adapter {
  static final List<String> CAPABILITIES =
      List.of("metadata", "wait_for_ready", "kept_open", "cancel", "channels", "watch", "connect",
          "custom_policy");
  static final String OWN = "bootstrap_per_channel";
  static final Gson JSON =
      new GsonBuilder().setFieldNamingPolicy(LOWER_CASE_WITH_UNDERSCORES).serializeNulls().create();
  static final TypeToken<Map<String, Object>> JSON_OBJECT = new TypeToken<>() {};
  static final OutputStream STDOUT = new FileOutputStream(FileDescriptor.out);
  static final ScheduledExecutorService TURNS = Executors.newSingleThreadScheduledExecutor();

  // What the process holds; a call is in CALLS until it has finished.
  static final Map<Integer, ManagedChannel> CHANNELS = new ConcurrentHashMap<>();
  static final Map<String, Call> CALLS = new ConcurrentHashMap<>();
  static Long zero;

  /** Any request; what its type does not have is null. The calls of a cancel are ids. */
  record Request(
      String type,
      Integer id,
      String name,
      String target,
      Map<String, Long> options,
      String serviceConfig,
      String bootstrap,
      Integer channel,
      JsonElement calls,
      Integer concurrency,
      Long pace) {}

  public static void main(String[] arguments) throws IOException {
    var lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    for (String line; (line = lines.readLine()) != null; ) {
      Request request = null;
      try {
        request = JSON.fromJson(line, Request.class);
        begin(request);
      } catch (RuntimeException trouble) {
        say("error", "id", request == null ? null : request.id, "message", trouble.toString());
      }
    }
    System.exit(0); // the end of stdin means exit: whatever is still open is dropped
  }

  static void begin(Request request) {
    int id = request.id;
    Runnable done = () -> say("done", "id", id);
    switch (request.type) {
      case "hello" -> hello(id);
      case "register_policy" -> register(request, done);
      case "open_channel" -> open(request, done);
      case "start_calls" -> start(request, done);
      case "cancel" -> cancel(request, done);
      case "watch" -> watch(request.channel, channelOf(request), done);
      case "connect" -> connect(request, done);
      case "close" -> close(request, done);
      default -> throw new IllegalArgumentException("there is no request " + request.type);
    }
  }

  static synchronized void say(String type, Object... fields) {
    var said = new LinkedHashMap<String, Object>(Map.of("type", type));
    for (int i = 0; i < fields.length; i += 2) {
      said.put((String) fields[i], fields[i + 1]);
    }
    try {
      STDOUT.write((JSON.toJson(said) + "\n").getBytes(UTF_8));
    } catch (IOException gone) {
      throw new UncheckedIOException(gone);
    }
  }

  static long now() {
    return (System.nanoTime() - zero) / 1000;
  }

  static void hello(int id) {
    zero = zero == null ? System.nanoTime() : zero;
    String version = RingHashOptions.class.getPackage().getImplementationVersion();
    say("hello", "id", id, "contract", 2, "name", "grpc-java", "version", version,
        "capabilities", capabilities(version), "at", now());
  }

  /** Before 1.79 the first bootstrap of a process, or the last one, may be that of all channels. */
  static List<String> capabilities(String version) {
    String[] numbers = version.split("[.-]");
    boolean isOld = numbers[0].equals("1") && Integer.parseInt(numbers[1]) < 79;
    return isOld ? CAPABILITIES : Stream.concat(CAPABILITIES.stream(), Stream.of(OWN)).toList();
  }

  static void register(Request request, Runnable done) {
    LoadBalancerRegistry.getDefaultRegistry()
        .register(new NumberedPolicy(request.id, request.name));
    done.run();
  }

  static void open(Request request, Runnable done) {
    request.options.forEach(
        (name, value) -> {
          if (!name.equals("ring_size_cap")) {
            throw new IllegalArgumentException("there is no option " + name);
          }
          RingHashOptions.setRingSizeCap(value); // of the whole process
        });
    CHANNELS.put(
        request.id,
        request.bootstrap == null ? build(request, request.target) : buildWithBootstrap(request));
    done.run();
  }

  static ManagedChannel build(Request request, String target) {
    var builder = Grpc.newChannelBuilder(target, InsecureChannelCredentials.create());
    if (request.serviceConfig != null) {
      builder.defaultServiceConfig(JSON.fromJson(request.serviceConfig, JSON_OBJECT));
    }
    // Retries would hide failures, and another thread to hear of each call would cost time.
    return builder.disableRetry().directExecutor().build();
  }

  /** A bootstrap belongs to a scheme, and the channel keeps the resolver that it was built with. */
  static ManagedChannel buildWithBootstrap(Request request) {
    String scheme = "xds" + request.id;
    var resolvers = NameResolverRegistry.getDefaultRegistry();
    var own =
        XdsNameResolverProvider.createForTest(
            scheme, JSON.fromJson(request.bootstrap, JSON_OBJECT));
    resolvers.register(own);
    try {
      return build(request, request.target.replaceFirst("^xds:", scheme + ":"));
    } finally {
      resolvers.deregister(own);
    }
  }

  static ManagedChannel channelOf(Request request) {
    ManagedChannel channel = CHANNELS.get(request.channel);
    if (channel == null) {
      throw new IllegalArgumentException("channel " + request.channel + " is not open");
    }
    return channel;
  }

  static void watch(int number, ManagedChannel channel, Runnable done) {
    ConnectivityState state = channel.getState(false);
    say("state", "channel", number, "state", state, "at", now());
    if (state == ConnectivityState.SHUTDOWN) {
      done.run();
    } else {
      channel.notifyWhenStateChanged(state, () -> watch(number, channel, done));
    }
  }

  static void connect(Request request, Runnable done) {
    channelOf(request).getState(true);
    done.run();
  }

  static void close(Request request, Runnable done) {
    ManagedChannel channel = channelOf(request);
    CHANNELS.remove(request.channel);
    CALLS.values().stream().filter(call -> call.home == channel).forEach(Call::drop);
    channel.shutdownNow();
    done.run();
  }

  static void cancel(Request request, Runnable done) {
    String[] ids = JSON.fromJson(request.calls, String[].class);
    Stream.of(ids).map(CALLS::get).filter(Objects::nonNull).forEach(Call::drop);
    done.run();
  }

  static void start(Request request, Runnable done) {
    ManagedChannel home = channelOf(request);
    Call[] calls = JSON.fromJson(request.calls, Call[].class);
    var batch = new Batch(calls.length, done);
    Stream.of(calls).forEach(call -> call.prepare(home, batch));
    Stream.of(calls).forEach(call -> CALLS.put(call.id, call));
    if (request.pace != null) {
      for (int turn = 0; turn < calls.length; turn++) {
        TURNS.schedule(calls[turn]::make, turn * request.pace, MICROSECONDS);
      }
    } else {
      batch.waiting.addAll(List.of(calls));
      int atOnce = request.concurrency == null ? calls.length : request.concurrency;
      TURNS.execute(() -> IntStream.range(0, atOnce).forEach(i -> batch.next()));
    }
    batch.countDown();
  }

  /** What start_calls began. Its calls wait here, unless their turn comes by the clock. */
  static final class Batch {
    final Queue<Call> waiting = new ConcurrentLinkedQueue<>();
    final AtomicInteger turns = new AtomicInteger();
    final AtomicInteger unfinished;
    final Runnable done;

    Batch(int calls, Runnable done) {
      unfinished = new AtomicInteger(calls + 1); // one for the start itself: there may be no calls
      this.done = done;
    }

    /** Makes one more call, here or by who is at it: it may end before it has been made. */
    void next() {
      if (turns.getAndIncrement() == 0) {
        do {
          for (Call call; (call = waiting.poll()) != null && !call.make(); ) {}
        } while (turns.decrementAndGet() > 0);
      }
    }

    void countDown() {
      if (unfinished.decrementAndGet() == 0) {
        done.run();
      }
    }
  }
}
