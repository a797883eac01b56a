//! Drives tonic-xds for the suite: JSON lines on stdin and stdout, as ../contract.md says.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, Write};
use std::process::exit;
use std::sync::{LazyLock, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bytes::Buf;
use futures_util::stream::{self, StreamExt};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::MetadataMap;
use tonic::transport::Endpoint;
use tonic::{CancellationHandle, Code, Request, Status};
use tonic_xds::{BootstrapConfig, XdsChannelBuilder, XdsChannelConfig, XdsUri};
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

const CONTRACT: u64 = 1;

/// There is no connectivity API: nothing to watch, nobody to ask to connect. Nor does a call choose
/// whether it waits for ready.
const CAPABILITIES: [&str; 4] = ["metadata", "kept_open", "cancel", "channels"];

/// What tonic-xds gives, its errors made statuses as tonic itself would make them: with errors of no
/// known type, rustc does not see that a call can go from thread to thread.
type Service = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Status>;

type Trouble = Box<dyn Error + Send + Sync>;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Asked {
    Hello,
    OpenChannel { target: String, options: HashMap<String, Value> },
    StartCalls { channel: u64, calls: Vec<Call>, concurrency: Option<usize>, pace: Option<u64> },
    Cancel { calls: Vec<String> },
    Close { channel: u64 },
}

#[derive(Deserialize)]
struct Call {
    id: String,
    path: String,
    metadata: Vec<(String, String)>,
    deadline: Option<u64>,
    kept_open: bool,
}

#[derive(Clone)]
struct Channel {
    service: Service,
    open: CancellationToken,
}

/// Cancels a call; it is here until the call has finished.
static CALLS: LazyLock<Mutex<HashMap<String, CancellationToken>>> = LazyLock::new(Mutex::default);
static ZERO: OnceLock<Instant> = OnceLock::new();

fn now() -> u64 {
    ZERO.get_or_init(Instant::now).elapsed().as_micros() as u64
}

fn say(said: Value) {
    // The suite may be gone; then stdin is at its end too.
    let _ = writeln!(std::io::stdout().lock(), "{said}");
}

fn main() -> Result<(), Trouble> {
    let runtime = tokio::runtime::Runtime::new()?;
    let _entered = runtime.enter();
    let mut channels = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let request: Value = match serde_json::from_str(&line?) {
            Ok(request) => request,
            Err(trouble) => {
                say(json!({"type": "error", "id": null, "message": trouble.to_string()}));
                continue;
            }
        };
        let id = request["id"].as_u64();
        if let Err(trouble) = answer(id.unwrap_or_default(), request, &mut channels) {
            say(json!({"type": "error", "id": id, "message": trouble.to_string()}));
        }
    }
    exit(0) // end of stdin means exit: whatever is still open is dropped
}

fn answer(id: u64, request: Value, channels: &mut HashMap<u64, Channel>) -> Result<(), Trouble> {
    match serde_json::from_value(request)? {
        Asked::Hello => {
            let at = now();
            say(json!({
                "type": "hello", "id": id, "contract": CONTRACT, "name": "tonic-xds",
                "version": env!("TONIC_XDS_VERSION"), "capabilities": CAPABILITIES, "at": at,
            }));
            return Ok(());
        }
        Asked::OpenChannel { target, options } => {
            if let Some(name) = options.keys().next() {
                return Err(format!("there is no option {name}").into());
            }
            let channel = Channel { service: connect(&target)?, open: CancellationToken::new() };
            channels.insert(id, channel);
        }
        Asked::StartCalls { channel, calls, concurrency, pace } => {
            let channel = channels.get(&channel).ok_or("the channel is not open")?.clone();
            for call in &calls {
                let token = channel.open.child_token();
                CALLS.lock().unwrap().insert(call.id.clone(), token);
            }
            tokio::spawn(async move {
                match pace {
                    Some(pace) => paced(channel, calls, Duration::from_micros(pace)).await,
                    None => {
                        let made = |call| make(channel.clone(), call);
                        stream::iter(calls).for_each_concurrent(concurrency, made).await;
                    }
                }
                say(json!({"type": "done", "id": id}));
            });
            return Ok(());
        }
        Asked::Cancel { calls } => {
            let unfinished = CALLS.lock().unwrap();
            calls
                .iter()
                .filter_map(|call| unfinished.get(call))
                .for_each(CancellationToken::cancel);
        }
        Asked::Close { channel } => {
            channels.remove(&channel).ok_or("the channel is not open")?.open.cancel();
        }
    }
    say(json!({"type": "done", "id": id}));
    Ok(())
}

/// A channel of tonic-xds; for another target than xds:///, one of tonic itself.
fn connect(target: &str) -> Result<Service, Trouble> {
    if let Some(address) = target.strip_prefix("dns:///") {
        let channel = Endpoint::from_shared(format!("http://{address}"))?.connect_lazy();
        return Ok(BoxCloneSyncService::new(
            channel.map_err(|error| Status::from_error(error.into())),
        ));
    }
    let config = XdsChannelConfig::new(XdsUri::parse(target)?).with_bootstrap(bootstrap()?);
    let channel = XdsChannelBuilder::new(config).build_grpc_channel()?;
    Ok(BoxCloneSyncService::new(channel.map_err(Status::from_error)))
}

/// The bootstrap of the environment, with a scheme before each server's address.
///
/// Elsewhere server_uri is a gRPC target, where a plain "ip:port" will do. Here it is an HTTP URI:
/// without a scheme tonic's connector refuses it, and the client tries again for ever.
fn bootstrap() -> Result<BootstrapConfig, Trouble> {
    let mut json: Value = serde_json::from_str(&std::env::var("GRPC_XDS_BOOTSTRAP_CONFIG")?)?;
    for server in json["xds_servers"].as_array_mut().into_iter().flatten() {
        if let Some(uri) = server["server_uri"].as_str().filter(|uri| !uri.contains("://")) {
            server["server_uri"] = format!("http://{uri}").into();
        }
    }
    Ok(BootstrapConfig::from_json(&json.to_string())?)
}

async fn paced(channel: Channel, calls: Vec<Call>, pace: Duration) {
    let (begun, mut made) = (tokio::time::Instant::now(), JoinSet::new());
    for (turn, call) in calls.into_iter().enumerate() {
        tokio::time::sleep_until(begun + turn as u32 * pace).await;
        made.spawn(make(channel.clone(), call));
    }
    made.join_all().await;
}

/// Makes a call and reports how it ended; one that was cancelled before its turn is not sent.
async fn make(channel: Channel, call: Call) {
    let started_at = now();
    let token = CALLS.lock().unwrap()[&call.id].clone();
    let answered = Mutex::new(Value::Null);
    let ended = tokio::select! {
        biased;
        () = token.cancelled() => Err(Status::cancelled("cancelled by the adapter")),
        () = passed(call.deadline) => Err(Status::deadline_exceeded("ended by the adapter")),
        ended = send(channel.service, &call, &answered) => ended,
    };
    let (code, details) = match &ended {
        Ok(()) => (Code::Ok, ""),
        Err(status) => (status.code(), status.message()),
    };
    CALLS.lock().unwrap().remove(&call.id);
    say(json!({
        "type": "finished", "call": call.id, "status": name(code), "details": details,
        "hostname": *answered.lock().unwrap(), "started_at": started_at, "ended_at": now(),
    }));
}

/// What set_timeout asks for is seen to only once an endpoint has been chosen, and then tonic calls
/// it CANCELLED; so a call's deadline is kept here too, as a program with a deadline has to.
async fn passed(deadline: Option<u64>) {
    match deadline {
        Some(deadline) => tokio::time::sleep(Duration::from_micros(deadline)).await,
        None => std::future::pending().await,
    }
}

/// Sends a call, and notes who answered as soon as that is known.
///
/// A unary call is a stream of one message: so tonic makes it too, but keeps the headers until its end.
async fn send(service: Service, call: &Call, answered: &Mutex<Value>) -> Result<(), Status> {
    let messages = match call.kept_open {
        true => stream::pending().left_stream(),
        false => stream::iter([()]).right_stream(),
    };
    let path = call.path.parse().map_err(|_| Status::internal("this is no path"))?;
    let mut client = Grpc::new(service);
    client.ready().await?;
    let mut request = request(call, messages)?;
    let _reset = ResetOnDrop(request.cancellation_handle());
    let response = client.streaming(request, path, NoBytes).await;
    let headers = match &response {
        Ok(response) => response.metadata(),
        Err(status) => status.metadata(), // headers without messages, and the status in them
    };
    let hostname = headers.get("hostname").and_then(|value| value.to_str().ok());
    let hostname = hostname.map_or(Value::Null, Value::from);
    *answered.lock().unwrap() = hostname.clone();
    let mut stream = response?.into_inner();
    if call.kept_open && hostname.is_string() {
        say(json!({"type": "opened", "call": call.id, "hostname": hostname, "at": now()}));
    }
    while stream.message().await?.is_some() {}
    Ok(())
}

/// Ends a call that is left: dropping it is not enough as long as its messages have not ended.
struct ResetOnDrop(CancellationHandle);

impl Drop for ResetOnDrop {
    fn drop(&mut self) {
        self.0.clone().cancel();
    }
}

/// A request with the call's metadata as it goes over the wire, where -bin values are base64 too.
fn request<T>(call: &Call, message: T) -> Result<Request<T>, Status> {
    let mut headers = HeaderMap::new();
    for (key, value) in &call.metadata {
        let key: HeaderName = key.parse().map_err(|_| Status::internal("this is no key"))?;
        let value = HeaderValue::from_bytes(value.as_bytes());
        headers.append(key, value.map_err(|_| Status::internal("this is no value"))?);
    }
    let mut request = Request::new(message);
    *request.metadata_mut() = MetadataMap::from_headers(headers);
    if let Some(deadline) = call.deadline {
        request.set_timeout(Duration::from_micros(deadline));
    }
    Ok(request)
}

/// The name of a status in gRPC's texts: tonic itself has Cancelled for CANCELLED.
fn name(code: Code) -> String {
    let mut name = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// Sends messages without a byte, and drops the bytes of those that come.
struct NoBytes;

impl Codec for NoBytes {
    type Encode = ();
    type Decode = ();
    type Encoder = NoBytes;
    type Decoder = NoBytes;

    fn encoder(&mut self) -> NoBytes {
        NoBytes
    }

    fn decoder(&mut self) -> NoBytes {
        NoBytes
    }
}

impl Encoder for NoBytes {
    type Item = ();
    type Error = Status;

    fn encode(&mut self, _: (), _: &mut EncodeBuf<'_>) -> Result<(), Status> {
        Ok(())
    }
}

impl Decoder for NoBytes {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        message.advance(message.remaining());
        Ok(Some(()))
    }
}
