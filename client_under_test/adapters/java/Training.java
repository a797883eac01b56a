// Makes the adapter load, at its build, what it will need: the JVM archives that for quick starts.

import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
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

  /** The arguments are jars whose classes are loaded one and all. */
  public static void main(String[] jars) throws Exception {
    for (String jar : jars) {
      try (var file = new JarFile(jar)) {
        file.stream().map(JarEntry::getName).forEach(Training::load);
      }
    }
    // Refuses every call, which is a conversation nevertheless, on a channel and on an ADS stream.
    var credentials = InsecureServerCredentials.create();
    Server server = Grpc.newServerBuilderForPort(0, credentials).build().start();
    System.setProperty("io.grpc.xds.bootstrapConfig", BOOTSTRAP.formatted(server.getPort()));
    Adapter.begin(read("{\"type\": \"hello\", \"id\": 0}"));
    call(1, "localhost:" + server.getPort());
    call(2, "xds:///training");
    System.exit(0);
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
