// Drives grpc-go for the suite: JSON lines on stdin and stdout, as ../contract.md says.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver/dns"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds" // the resolver and the balancers
)

const contract = 1

var capabilities = []string{"metadata", "wait_for_ready", "kept_open", "cancel", "channels", "watch", "connect"}

// By number: codes.Code itself says Canceled where gRPC says CANCELLED.
var statusNames = []string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
	"ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
	"OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

type fields map[string]any

type request struct {
	Type        string
	ID          int
	Target      string
	Options     map[string]int
	Channel     int
	Calls       json.RawMessage // of start_calls: what to call; of cancel: ids
	Concurrency *int
	Pace        *int64
}

type call struct {
	ID           string
	Path         string
	Metadata     [][2]string
	Deadline     *int64
	WaitForReady bool `json:"wait_for_ready"`
	KeptOpen     bool `json:"kept_open"`

	home *channel
	ctx  context.Context
	drop context.CancelFunc
}

type channel struct {
	*grpc.ClientConn
	number int
}

// What the process holds; a call is in calls until it has finished.
var (
	zero     time.Time
	channels = map[int]*channel{} // for the reader of stdin alone
	calls    sync.Map
	talking  sync.Mutex
)

func main() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return // end of stdin means exit: whatever is still open is dropped
		}
		r := &request{ID: -1}
		if err := json.Unmarshal(line, r); err != nil || r.ID < 0 {
			say("error", fields{"id": nil, "message": fmt.Sprintf("this is no request: %v", err)})
			continue
		}
		if rest, err := begin(r); err != nil {
			say("error", fields{"id": r.ID, "message": err.Error()})
		} else if rest != nil {
			go func() {
				rest()
				say("done", fields{"id": r.ID})
			}()
		}
	}
}

func say(kind string, said fields) {
	said["type"] = kind
	line, _ := json.Marshal(said)
	talking.Lock()
	defer talking.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func now() int64 { return time.Since(zero).Microseconds() }

func nothing() {}

// begin does what must be in the order of the requests, and gives what may take long.
func begin(r *request) (rest func(), err error) {
	switch r.Type {
	case "hello":
		if zero.IsZero() {
			zero = time.Now()
		}
		say("hello", fields{
			"id": r.ID, "contract": contract, "name": "grpc-go", "version": grpc.Version,
			"capabilities": capabilities, "at": now(),
		})
		return nil, nil
	case "open_channel":
		return nothing, open(r)
	case "cancel":
		var names []string
		if err := json.Unmarshal(r.Calls, &names); err != nil {
			return nil, err
		}
		for _, name := range names {
			if c, unfinished := calls.Load(name); unfinished {
				c.(*call).drop()
			}
		}
		return nothing, nil
	}
	home := channels[r.Channel]
	if home == nil {
		return nil, fmt.Errorf("%q is not for channel %d, which is not open", r.Type, r.Channel)
	}
	switch r.Type {
	case "start_calls":
		return home.start(r)
	case "watch":
		return home.watch, nil
	case "connect":
		home.Connect()
		return nothing, nil
	case "close":
		delete(channels, r.Channel)
		return nothing, home.shut()
	}
	return nil, fmt.Errorf("there is no request %q", r.Type)
}

func open(r *request) error {
	// What grpc.NewClient takes if it is told nothing.
	params := grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 20 * time.Second}
	for name, value := range r.Options {
		wanted := time.Duration(value) * time.Millisecond
		switch name {
		case "initial_backoff_ms":
			params.Backoff.BaseDelay = wanted
		case "max_backoff_ms":
			params.Backoff.MaxDelay = wanted
		case "connect_timeout_ms":
			params.MinConnectTimeout = wanted
		case "dns_min_interval_ms":
			dns.SetMinResolutionInterval(wanted) // of the whole process
		default:
			return fmt.Errorf("there is no option %q", name)
		}
	}
	conn, err := grpc.NewClient(r.Target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(params),
		grpc.WithDisableRetry(), // retries would hide failures
		grpc.WithDefaultCallOptions(grpc.ForceCodec(noBytes{})),
	)
	if err == nil {
		channels[r.ID] = &channel{conn, r.ID}
	}
	return err
}

func (home *channel) shut() error {
	calls.Range(func(_, each any) bool {
		if c := each.(*call); c.home == home {
			c.drop() // on a connection that is closed under it, a call ends as UNAVAILABLE
		}
		return true
	})
	return home.Close()
}

func (home *channel) watch() {
	for {
		state := home.GetState()
		say("state", fields{"channel": home.number, "state": state.String(), "at": now()})
		if state == connectivity.Shutdown {
			return
		}
		home.WaitForStateChange(context.Background(), state)
	}
}

func (home *channel) start(r *request) (rest func(), err error) {
	var planned []*call
	if err := json.Unmarshal(r.Calls, &planned); err != nil {
		return nil, err
	}
	for _, c := range planned {
		c.home = home
		c.ctx, c.drop = context.WithCancel(context.Background())
		calls.Store(c.ID, c)
	}
	return func() {
		turns, begun := make(chan *call), time.Now()
		atOnce := len(planned)
		if r.Concurrency != nil {
			atOnce = *r.Concurrency
		}
		var workers sync.WaitGroup
		for range atOnce {
			workers.Go(func() {
				for c := range turns {
					c.make()
				}
			})
		}
		for turn, c := range planned {
			if r.Pace != nil {
				turnsAt := begun.Add(time.Duration(int64(turn)**r.Pace) * time.Microsecond)
				time.Sleep(time.Until(turnsAt))
			}
			turns <- c
		}
		close(turns)
		workers.Wait()
	}, nil
}

// make makes the call and reports how it ended; one that was cancelled before its turn is not sent.
func (c *call) make() {
	defer c.drop()
	startedAt := now()
	headers, err := metadata.MD(nil), status.FromContextError(c.ctx.Err()).Err()
	if err == nil {
		headers, err = c.send()
	}
	ended, name := status.Convert(err), "UNKNOWN"
	if code := int(ended.Code()); code < len(statusNames) {
		name = statusNames[code]
	}
	calls.Delete(c.ID)
	say("finished", fields{
		"call": c.ID, "status": name, "details": ended.Message(), "hostname": hostname(headers),
		"started_at": startedAt, "ended_at": now(),
	})
}

// send gives the response headers, as far as they came, and how the call ended.
func (c *call) send() (headers metadata.MD, err error) {
	sent := metadata.MD{}
	for _, pair := range c.Metadata {
		key, value := pair[0], pair[1]
		if strings.HasSuffix(key, "-bin") {
			decoded, _ := base64.StdEncoding.DecodeString(value)
			value = string(decoded)
		}
		sent.Append(key, value)
	}
	ctx := metadata.NewOutgoingContext(c.ctx, sent)
	if c.Deadline != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(*c.Deadline)*time.Microsecond)
		defer stop()
	}
	options := []grpc.CallOption{grpc.WaitForReady(c.WaitForReady), grpc.Header(&headers)}
	if !c.KeptOpen {
		err = c.home.Invoke(ctx, c.Path, nil, nil, options...)
		return headers, err
	}
	desc := &grpc.StreamDesc{StreamName: c.Path, ClientStreams: true, ServerStreams: true}
	stream, err := c.home.NewStream(ctx, desc, c.Path, options...)
	if err != nil {
		return nil, err
	}
	headers, err = stream.Header()
	if told := hostname(headers); told != nil {
		say("opened", fields{"call": c.ID, "hostname": told, "at": now()})
	}
	for err == nil {
		err = stream.RecvMsg(nil)
	}
	if err == io.EOF {
		err = nil
	}
	return headers, err
}

func hostname(headers metadata.MD) any {
	if values := headers.Get("hostname"); len(values) > 0 {
		return values[0]
	}
	return nil
}

// noBytes sends no bytes and drops those that come. It has no name, to leave the content type alone.
type noBytes struct{}

func (noBytes) Marshal(any) ([]byte, error) { return nil, nil }
func (noBytes) Unmarshal([]byte, any) error { return nil }
func (noBytes) Name() string                { return "" }
