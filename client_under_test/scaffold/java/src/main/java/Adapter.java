import com.google.gson.GsonBuilder;
import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Drives the client for xdspec: JSON lines on stdin and stdout, as contract.md says. */
public final class Adapter {
  static final int CONTRACT = 2;
  static final String NAME = "scaffold"; // what the library calls itself
  static final String VERSION = "0.1.0"; // as in client.toml; better asked of the library
  // client.toml has this list too: change both.
  static final List<String> CAPABILITIES =
      List.of("metadata", "wait_for_ready", "kept_open", "cancel", "channels", "watch", "connect");

  private final Gson gson = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
  private final PrintStream out = new PrintStream(System.out, false, UTF_8);
  private final ExecutorService beside = Executors.newCachedThreadPool();
  private long zero;
  private boolean greeted;

  public static void main(String[] none) throws IOException {
    new Adapter().run(new BufferedReader(new InputStreamReader(System.in, UTF_8)));
    Runtime.getRuntime().halt(0); // end of stdin means exit: whatever is still open is dropped
  }

  private void run(BufferedReader lines) throws IOException {
    for (String line; (line = lines.readLine()) != null; ) {
      Integer id = null;
      try {
        JsonObject request = JsonParser.parseString(line).getAsJsonObject();
        id = request.get("id").getAsInt();
        answer(id, request.get("type").getAsString(), request);
      } catch (RuntimeException trouble) {
        error(id, trouble);
      }
    }
  }

  private void answer(int id, String type, JsonObject request) {
    if (type.equals("hello")) {
      hello(id);
      return;
    }
    Runnable rest = begin(id, type, request);
    beside.execute(
        () -> {
          try {
            rest.run();
            say("done", fields("id", id));
          } catch (RuntimeException trouble) {
            error(id, trouble);
          }
        });
  }

  private void hello(int id) {
    if (!greeted) {
      greeted = true;
      zero = System.nanoTime();
    }
    say("hello", fields("id", id, "contract", CONTRACT, "name", NAME, "version", VERSION,
        "capabilities", CAPABILITIES, "at", now()));
  }

  /**
   * Does what must happen in the order of requests, and returns the rest, which may take long. The
   * rest runs while later requests are handled, and the adapter writes `done` at its end.
   *
   * <p>So this method enters the calls of a start_calls into a table, and a cancel finds them all
   * there. A call that waits for its turn has nothing to cancel yet: mark it, and look at the mark
   * when its turn comes. The call then finishes as CANCELLED and is not sent. A task that is
   * cancelled in the executor's queue writes no `finished`.
   */
  private Runnable begin(int id, String type, JsonObject request) {
    switch (type) { // in the order in which `xdspec doctor` asks for them
      case "open_channel":
      case "start_calls":
      case "cancel":
      case "watch":
      case "connect":
      case "close":
        throw new UnsupportedOperationException(type + " is not written yet");
      default:
        throw new IllegalArgumentException("there is no request " + type);
    }
  }

  /** Microseconds since the first hello. */
  private long now() {
    return (System.nanoTime() - zero) / 1000;
  }

  private void error(Integer id, RuntimeException trouble) {
    StackTraceElement[] places = trouble.getStackTrace();
    String where = places.length > 0 ? " at " + places[0] : "";
    say("error", fields("id", id, "message", trouble + where));
  }

  private void say(String type, Map<String, Object> fields) {
    fields.put("type", type);
    String line = gson.toJson(fields);
    synchronized (out) {
      out.print(line + "\n");
      out.flush();
    }
  }

  private static Map<String, Object> fields(Object... keysAndValues) {
    Map<String, Object> fields = new LinkedHashMap<>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      fields.put((String) keysAndValues[i], keysAndValues[i + 1]);
    }
    return fields;
  }
}
