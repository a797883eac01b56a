import static io.grpc.Metadata.ASCII_STRING_MARSHALLER;
import static io.grpc.Metadata.BINARY_BYTE_MARSHALLER;
import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.Base64;
import java.util.Objects;

/** A call as start_calls asks for it, and as it goes. */
final class Call extends ClientCall.Listener<byte[]> {
  static final Metadata.Key<String> HOSTNAME = Metadata.Key.of("hostname", ASCII_STRING_MARSHALLER);

  static final MethodDescriptor.Marshaller<byte[]> NO_BYTES =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] message) {
          return new ByteArrayInputStream(message);
        }

        @Override
        public byte[] parse(InputStream stream) {
          return new byte[0];
        }
      };

  // As it was asked for.
  String id;
  String path;
  String[][] metadata;
  Long deadline;
  boolean waitForReady;
  boolean keptOpen;

  // As it goes.
  transient ManagedChannel home;
  transient Adapter.Batch batch;
  transient MethodDescriptor<byte[], byte[]> method;
  transient Metadata headers;
  transient boolean dropped;
  transient long startedAt;
  transient ClientCall<byte[], byte[]> rpc;
  transient String hostname;

  void prepare(ManagedChannel home, Adapter.Batch batch) {
    this.home = home;
    this.batch = batch;
    method =
        MethodDescriptor.newBuilder(NO_BYTES, NO_BYTES)
            .setType(keptOpen ? MethodType.BIDI_STREAMING : MethodType.UNARY)
            .setFullMethodName(path.substring(1))
            .build();
    headers = new Metadata();
    for (String[] pair : metadata) {
      String key = pair[0];
      String value = pair[1];
      if (key.endsWith("-bin")) {
        byte[] decoded = Base64.getDecoder().decode(value);
        headers.put(Metadata.Key.of(key, BINARY_BYTE_MARSHALLER), decoded);
      } else {
        headers.put(Metadata.Key.of(key, ASCII_STRING_MARSHALLER), value);
      }
    }
  }

  /** Makes the call, unless it was dropped before its turn, and tells whether it is under way. */
  synchronized boolean make() {
    if (dropped) {
      return false;
    }
    startedAt = Adapter.now();
    try {
      send();
      return true;
    } catch (RuntimeException | Error thrown) {
      thrown.printStackTrace();
      finish(Status.UNKNOWN.withDescription("thrown at the caller: " + thrown));
      return false;
    }
  }

  void send() {
    CallOptions options = CallOptions.DEFAULT;
    if (waitForReady) {
      options = options.withWaitForReady();
    }
    if (deadline != null) {
      options = options.withDeadlineAfter(deadline, MICROSECONDS);
    }
    rpc = home.newCall(method, options);
    rpc.start(this, headers);
    rpc.request(1);
    if (!keptOpen) {
      rpc.sendMessage(new byte[0]);
      rpc.halfClose();
    }
  }

  synchronized void drop() {
    if (rpc != null) {
      rpc.cancel("cancelled by the suite", null);
    } else if (!dropped) {
      dropped = true;
      startedAt = Adapter.now();
      finish(Status.CANCELLED.withDescription("cancelled before it was sent"));
    }
  }

  @Override
  public void onHeaders(Metadata received) {
    hostname = received.get(HOSTNAME);
    if (keptOpen && hostname != null) {
      Adapter.say("opened", "call", id, "hostname", hostname, "at", Adapter.now());
    }
  }

  @Override
  public void onMessage(byte[] message) {
    rpc.request(1);
  }

  @Override
  public void onClose(Status status, Metadata trailers) {
    finish(status);
    batch.next();
  }

  void finish(Status status) {
    long endedAt = Adapter.now();
    if (Adapter.CALLS.remove(id) != null) { // it may have ended by an exception before
      String details = Objects.requireNonNullElse(status.getDescription(), "");
      Adapter.say("finished", "call", id, "status", status.getCode(), "details", details,
          "hostname", hostname, "started_at", startedAt, "ended_at", endedAt);
      batch.countDown();
    }
  }
}
