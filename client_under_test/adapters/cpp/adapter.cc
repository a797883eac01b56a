// Drives gRPC C++ for the suite: JSON lines on stdin and stdout, as contract.md says.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <absl/strings/escaping.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "json.h"

namespace {

using grpc::ByteBuffer;
using json::in_quotes;
using json::Value;
using std::to_string;

const char* const kCapabilities =
    R"(["metadata","wait_for_ready","kept_open","cancel","channels","watch","connect","response_headers"])";

const char* const kStates[] = {"IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"};

const char* const kStatuses[] = {
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"};

using Clock = std::chrono::steady_clock;

Clock::time_point zero;  // set by the first hello, before anything else is told

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - zero).count();
}

void say(const std::string& kind, const std::string& fields) {
    static std::mutex turn;
    std::string line = "{\"type\":" + in_quotes(kind) + "," + fields + "}\n";
    std::lock_guard<std::mutex> one(turn);
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
}

void done(std::int64_t id) { say("done", "\"id\":" + to_string(id)); }

struct Channel {
    std::shared_ptr<grpc::Channel> channel;
    grpc::GenericStub stub;

    explicit Channel(std::shared_ptr<grpc::Channel> made) : channel(made), stub(made) {}
};

// One request for calls: gives them their turns.
struct Batch {
    std::int64_t id;
    std::shared_ptr<Channel> channel;
    std::vector<Value> calls;
    std::size_t next = 0;
    std::size_t left = 0;
};

struct Call {
    std::int64_t channel = 0;
    grpc::ClientContext* context = nullptr;  // once its turn has come
};

std::mutex mutex;  // of what follows, and of every batch
std::unordered_map<std::int64_t, std::shared_ptr<Channel>> channels;
std::unordered_map<std::string, Call> calls;  // that have not ended and were not given up

void advance(const std::shared_ptr<Batch>& batch);

void finished(const std::shared_ptr<Batch>& batch, const std::string& name, const grpc::Status& status,
              const std::string& hostname, const std::string& headers, std::int64_t started_at, bool makes_way) {
    say("finished", "\"call\":" + in_quotes(name) + ",\"status\":" + in_quotes(kStatuses[status.error_code()]) +
                        ",\"details\":" + in_quotes(status.error_message()) +
                        ",\"hostname\":" + (hostname.empty() ? "null" : in_quotes(hostname)) +
                        ",\"started_at\":" + to_string(started_at) + ",\"ended_at\":" + to_string(now()) +
                        (headers.empty() ? "" : ",\"headers\":[" + headers + "]"));
    bool is_last;
    {
        std::lock_guard<std::mutex> one(mutex);
        is_last = --batch->left == 0;
    }
    if (is_last) done(batch->id);
    else if (makes_way) advance(batch);
}

// A call under way; deletes itself when it has ended.
class UnderWay : public grpc::ClientBidiReactor<ByteBuffer, ByteBuffer> {
  public:
    UnderWay(std::shared_ptr<Batch> batch, const Value& planned, bool makes_way)
        : batch_(std::move(batch)), name_(planned.at("id").as_text()), makes_way_(makes_way) {
        for (const Value& pair : planned.at("metadata").items) {
            const std::string& key = pair.items.at(0).as_text();
            std::string value = pair.items.at(1).as_text();
            if (key.size() > 4 && key.compare(key.size() - 4, 4, "-bin") == 0) {
                std::string bytes;
                if (!absl::Base64Unescape(value, &bytes)) throw std::runtime_error(key + " is no base64");
                value = bytes;
            }
            context_.AddMetadata(key, value);
        }
        if (auto deadline = planned.at("deadline").maybe_int())
            context_.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                               gpr_time_from_micros(*deadline, GPR_TIMESPAN)));
        context_.set_wait_for_ready(planned.at("wait_for_ready").as_bool());
        path_ = planned.at("path").as_text();
        kept_open_ = planned.at("kept_open").as_bool();
    }

    grpc::ClientContext* context() { return &context_; }

    void start() {
        started_at_ = now();
        grpc::GenericStub& stub = batch_->channel->stub;
        if (kept_open_) {
            stub.PrepareBidiStreamingCall(&context_, path_, {}, this);
            StartRead(&answer_);
            StartCall();
            return;
        }
        grpc::Slice nothing;
        request_ = ByteBuffer(&nothing, 1);
        stub.UnaryCall(&context_, path_, {}, &request_, &answer_, [this](grpc::Status status) { OnDone(status); });
    }

    void OnReadInitialMetadataDone(bool ok) override {
        std::string who = ok ? hostname() : "";
        if (!who.empty())
            say("opened", "\"call\":" + in_quotes(name_) + ",\"hostname\":" + in_quotes(who) + ",\"at\":" + to_string(now()));
    }

    void OnReadDone(bool ok) override {
        if (ok) StartRead(&answer_);
    }

    void OnDone(const grpc::Status& status) override {
        {
            std::lock_guard<std::mutex> one(mutex);
            calls.erase(name_);  // first: nobody cancels what is deleted
        }
        finished(batch_, name_, status, hostname(), headers(), started_at_, makes_way_);
        delete this;
    }

  private:
    std::string hostname() const {
        const auto& headers = context_.GetServerInitialMetadata();
        auto found = headers.find("hostname");
        return found == headers.end() ? "" : std::string(found->second.data(), found->second.size());
    }

    // The response headers but the one that names the backend, as JSON pairs.
    std::string headers() const {
        std::string pairs;
        for (const auto& [key, value] : context_.GetServerInitialMetadata()) {
            if (key == "hostname") continue;
            std::string text(value.data(), value.size());
            if (key.size() > 4 && key.substr(key.size() - 4) == "-bin") text = absl::Base64Escape(text);
            pairs += (pairs.empty() ? "[" : ",[") + in_quotes(std::string(key.data(), key.size())) + "," + in_quotes(text) + "]";
        }
        return pairs;
    }

    grpc::ClientContext context_;
    ByteBuffer request_, answer_;
    std::shared_ptr<Batch> batch_;
    std::string name_, path_;
    bool kept_open_ = false;
    bool makes_way_;
    std::int64_t started_at_ = 0;
};

// Gives the next call its turn; false if there is none. One that was cancelled before only says so.
bool turn(const std::shared_ptr<Batch>& batch, bool makes_way, bool& is_sent) {
    const Value* planned;
    {
        std::lock_guard<std::mutex> one(mutex);
        if (batch->next == batch->calls.size()) return false;
        planned = &batch->calls[batch->next++];
    }
    const std::string& name = planned->at("id").as_text();
    auto call = std::make_unique<UnderWay>(batch, *planned, makes_way);
    {
        std::lock_guard<std::mutex> one(mutex);
        auto found = calls.find(name);
        is_sent = found != calls.end();
        if (is_sent) found->second.context = call->context();
    }
    if (is_sent) {
        call.release()->start();
    } else {
        grpc::Status never(grpc::StatusCode::CANCELLED, "cancelled before it was sent");
        finished(batch, name, never, "", "", now(), false);
    }
    return true;
}

void advance(const std::shared_ptr<Batch>& batch) {
    for (bool is_sent = false; !is_sent && turn(batch, true, is_sent);) {
    }
}

void start_calls(const Value& request) {
    auto batch = std::make_shared<Batch>();
    batch->id = request.at("id").as_int();
    batch->calls = request.at("calls").items;
    batch->left = batch->calls.size();
    auto pace = request.at("pace").maybe_int();
    auto concurrency = request.at("concurrency").maybe_int().value_or(batch->calls.size());
    {
        std::lock_guard<std::mutex> one(mutex);
        auto number = request.at("channel").as_int();
        batch->channel = channels.at(number);
        for (const Value& call : batch->calls) calls[call.at("id").as_text()].channel = number;
    }
    if (batch->calls.empty()) return done(batch->id);
    if (!pace) {
        for (std::int64_t i = 0; i < concurrency; ++i) advance(batch);
        return;
    }
    std::thread([batch, pace, begun = Clock::now()] {
        bool is_sent;
        for (std::size_t i = 0; i < batch->calls.size(); ++i) {
            std::this_thread::sleep_until(begun + i * std::chrono::microseconds(*pace));
            turn(batch, false, is_sent);
        }
    }).detach();
}

// States of channels: told as they change, until the channel is gone.

struct Watch {
    std::int64_t id, number;
    std::weak_ptr<grpc::Channel> channel;
    grpc_connectivity_state state;
};

grpc::CompletionQueue changes;

// Waits for the state to be another one than was told. Its end is the end of the channel.
void await_change(Watch* watch, const std::shared_ptr<grpc::Channel>& channel) {
    channel->NotifyOnStateChange(watch->state, std::chrono::system_clock::time_point::max(), &changes, watch);
}

void tell(const Watch& watch) {
    say("state", "\"channel\":" + to_string(watch.number) + ",\"state\":" + in_quotes(kStates[watch.state]) +
                     ",\"at\":" + to_string(now()));
}

void follow_changes() {
    void* tag;
    bool ok;
    while (changes.Next(&tag, &ok)) {
        auto* watch = static_cast<Watch*>(tag);
        auto channel = watch->channel.lock();
        if (!channel) {
            done(watch->id);
            delete watch;
            continue;
        }
        auto state = channel->GetState(false);
        if (state != watch->state) {
            watch->state = state;
            tell(*watch);
        }
        await_change(watch, channel);
    }
}

// Requests.

std::shared_ptr<Channel> channel_of(const Value& request) {
    std::lock_guard<std::mutex> one(mutex);
    auto found = channels.find(request.at("channel").as_int());
    if (found == channels.end()) throw std::runtime_error("that channel is not open");
    return found->second;
}

void hello(const Value& request) {
    if (zero == Clock::time_point()) zero = Clock::now();
    say("hello", "\"id\":" + to_string(request.at("id").as_int()) + ",\"contract\":2,\"name\":\"grpc++\",\"version\":" +
                     in_quotes(grpc::Version()) + ",\"capabilities\":" + kCapabilities + ",\"at\":" + to_string(now()));
}

void open_channel(const Value& request) {
    grpc::ChannelArguments arguments;
    // Retries would hide failures; shared subchannels would carry backoff from channel to channel.
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    for (const auto& [name, value] : request.at("options").fields) {
        if (value.kind == Value::kText) arguments.SetString(name, value.text);
        else arguments.SetInt(name, static_cast<int>(value.as_int()));
    }
    auto made = grpc::CreateCustomChannel(request.at("target").as_text(), grpc::InsecureChannelCredentials(), arguments);
    {
        std::lock_guard<std::mutex> one(mutex);
        channels[request.at("id").as_int()] = std::make_shared<Channel>(made);
    }
    done(request.at("id").as_int());
}

void watch(const Value& request) {
    auto channel = channel_of(request)->channel;
    auto* made = new Watch{request.at("id").as_int(), request.at("channel").as_int(), channel, channel->GetState(false)};
    tell(*made);
    await_change(made, channel);
}

// Cancels a call whose turn has come, and keeps one from being sent whose turn has not.
template <class Which>
void give_up(Which which) {
    std::lock_guard<std::mutex> one(mutex);
    for (auto call = calls.begin(); call != calls.end();) {
        bool goes = which(call->first, call->second);
        if (goes && call->second.context) call->second.context->TryCancel();
        call = goes && !call->second.context ? calls.erase(call) : std::next(call);
    }
}

void cancel(const Value& request) {
    std::map<std::string, bool> names;
    for (const Value& name : request.at("calls").items) names[name.as_text()] = true;
    give_up([&](const std::string& name, const Call&) { return names.count(name) > 0; });
    done(request.at("id").as_int());
}

void close(const Value& request) {
    channel_of(request);
    auto number = request.at("channel").as_int();
    give_up([&](const std::string&, const Call& call) { return call.channel == number; });
    std::shared_ptr<Channel> last;  // goes when the mutex is free again
    {
        std::lock_guard<std::mutex> one(mutex);
        last = channels[number];
        channels.erase(number);
    }
    done(request.at("id").as_int());
}

void answer(const std::string& line) {
    std::string id = "null";
    try {
        Value request = json::Reader(line).whole();
        id = to_string(request.at("id").as_int());
        const std::string& type = request.at("type").as_text();
        if (type == "hello") hello(request);
        else if (type == "open_channel") open_channel(request);
        else if (type == "start_calls") channel_of(request), start_calls(request);
        else if (type == "cancel") cancel(request);
        else if (type == "watch") watch(request);
        else if (type == "connect") channel_of(request)->channel->GetState(true), done(request.at("id").as_int());
        else if (type == "close") close(request);
        else throw std::runtime_error(type + " is unknown");
    } catch (const std::exception& trouble) {
        say("error", "\"id\":" + id + ",\"message\":" + in_quotes(trouble.what()));
    }
}

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);
    std::thread(follow_changes).detach();
    for (std::string line; std::getline(std::cin, line);) answer(line);
    _exit(0);  // end of stdin means exit: whatever is still open is dropped
}
