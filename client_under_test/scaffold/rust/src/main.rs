//! Drives the client for xdspec: JSON lines on stdin and stdout, as contract.md says.

use std::io::{self, BufRead, Write};
use std::thread;
use std::time::Instant;

use serde_json::{json, Value};

const CONTRACT: u32 = 2;
const NAME: &str = "scaffold"; // what the library calls itself
const VERSION: &str = "0.1.0"; // as in client.toml, and as Cargo.toml pins the client
/// client.toml has this list too: change both.
const CAPABILITIES: [&str; 7] =
    ["metadata", "wait_for_ready", "kept_open", "cancel", "channels", "watch", "connect"];

/// What may take long.
type Rest = Box<dyn FnOnce() + Send>;

/// What one process holds.
#[derive(Default)]
struct Adapter {
    zero: Option<Instant>,
}

fn main() {
    let mut adapter = Adapter::default();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str::<Value>(&line) {
            Ok(request) if request["id"].is_u64() => adapter.answer(request),
            Ok(_) => say(json!({"type": "error", "id": null, "message": "it has no id"})),
            Err(why) => say(json!({"type": "error", "id": null, "message": why.to_string()})),
        }
    }
    std::process::exit(0) // end of stdin means exit: whatever is still open is dropped
}

fn say(what: Value) {
    let mut stdout = io::stdout().lock();
    // Nobody listens any more: the end of stdin is near.
    let _ = writeln!(stdout, "{what}").and_then(|()| stdout.flush());
}

impl Adapter {
    fn answer(&mut self, request: Value) {
        let id = request["id"].clone();
        if request["type"] == "hello" {
            return self.hello(id);
        }
        match self.begin(&request) {
            Ok(rest) => {
                thread::spawn(move || {
                    rest();
                    say(json!({"type": "done", "id": id}));
                });
            }
            Err(why) => say(json!({"type": "error", "id": id, "message": why})),
        }
    }

    fn hello(&mut self, id: Value) {
        let zero = *self.zero.get_or_insert_with(Instant::now);
        say(json!({
            "type": "hello", "id": id, "contract": CONTRACT, "name": NAME, "version": VERSION,
            "capabilities": CAPABILITIES, "at": zero.elapsed().as_micros() as u64,
        }));
    }

    /// Does what must happen in the order of requests, and returns the rest, which may take long.
    /// The rest runs while later requests are handled, and the adapter writes `done` at its end.
    ///
    /// So `begin` enters the calls of a `start_calls` into a table, and a `cancel` finds them all there.
    /// A call that waits for its turn has nothing to cancel yet: mark it, and look at the mark when its
    /// turn comes. The call then finishes as CANCELLED and is not sent. Dropping or aborting its future
    /// instead writes no `finished`.
    fn begin(&mut self, request: &Value) -> Result<Rest, String> {
        match request["type"].as_str().unwrap_or_default() {
            // In the order in which `xdspec doctor` asks for them.
            kind @ ("open_channel" | "start_calls" | "cancel" | "watch" | "connect" | "close") => {
                Err(format!("{kind} is not written yet"))
            }
            kind => Err(format!("there is no request {kind:?}")),
        }
    }
}
