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
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver/dns"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds" // the resolver and the balancers
)

const contract = 2

var capabilities = strings.Fields(`metadata wait_for_ready kept_open cancel channels watch connect
	custom_policy`)

// By number: codes.Code itself says Canceled where gRPC says CANCELLED.
var statusNames = strings.Fields(`OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND
	ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE
	UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED`)

type fields map[string]any

type request struct {
	Type        string
	ID          *int
	Name        string
	Target      string
	Options     map[string]int
	Service     string `json:"service_config"`
	Channel     int
	Calls       json.RawMessage // of start_calls: what to call; of cancel: ids
	Concurrency *int
	Pace        *int64
}

type channel struct {
	*grpc.ClientConn
	number int
	ctx    context.Context // of its calls
	drop   context.CancelFunc
}

type call struct {
	ID           string
	Path         string
	Metadata     [][2]string
	Deadline     *int64
	WaitForReady bool `json:"wait_for_ready"`
	KeptOpen     bool `json:"kept_open"`

	ctx  context.Context
	drop context.CancelFunc
}

var (
	zero     time.Time
	channels = map[int]*channel{} // for the reader of stdin alone
	calls    sync.Map             // those that have not finished, by id
	talking  sync.Mutex
)

func main() {
	if os.Getenv("GOGC") == "" { // a quarter of the processor time of so short a life was for the collector
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(256 << 20)
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return // end of stdin means exit: whatever is still open is dropped
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil || r.ID == nil {
			say("error", fields{"id": nil, "message": fmt.Sprintf("this is no request: %v", err)})
		} else if rest, err := begin(&r); err != nil {
			say("error", fields{"id": r.ID, "message": err.Error()})
		} else {
			go rest()
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

// begin does what must be in the order of the requests, and gives what may take long.
func begin(r *request) (rest func(), err error) {
	done := func() { say("done", fields{"id": r.ID}) }
	switch r.Type {
	case "hello":
		if zero.IsZero() {
			zero = time.Now()
		}
		return func() {
			say("hello", fields{
				"id": r.ID, "contract": contract, "name": "grpc-go", "version": grpc.Version,
				"capabilities": capabilities, "at": now(),
			})
		}, nil
	case "register_policy":
		balancer.Register(numbered{r.Name, *r.ID})
		return done, nil
	case "open_channel":
		return done, open(r)
	case "cancel":
		var ids []string
		err := json.Unmarshal(r.Calls, &ids)
		for _, id := range ids {
			if c, unfinished := calls.Load(id); unfinished {
				c.(*call).drop()
			}
		}
		return done, err
	}
	home := channels[r.Channel]
	if home == nil {
		return nil, fmt.Errorf("%q is not for channel %d, which is not open", r.Type, r.Channel)
	}
	switch r.Type {
	case "start_calls":
		planned, err := home.plan(r)
		return func() { home.start(planned, r); done() }, err
	case "watch":
		return func() { home.watch(); done() }, nil
	case "connect":
		home.Connect()
		return done, nil
	case "close":
		delete(channels, r.Channel)
		home.drop() // first: on a connection that is closed under it, a call ends as UNAVAILABLE
		return done, home.Close()
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
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(params),
		grpc.WithDisableRetry(), // retries would hide failures
		grpc.WithDefaultCallOptions(grpc.ForceCodec(noBytes{})),
	}
	if r.Service != "" {
		options = append(options, grpc.WithDefaultServiceConfig(r.Service))
	}
	conn, err := grpc.NewClient(r.Target, options...)
	if err != nil {
		return err
	}
	ctx, drop := context.WithCancel(context.Background())
	channels[*r.ID] = &channel{conn, *r.ID, ctx, drop}
	return nil
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

// plan makes calls known that have not begun, so that they can be cancelled.
func (home *channel) plan(r *request) (planned []*call, err error) {
	err = json.Unmarshal(r.Calls, &planned)
	for _, c := range planned {
		c.ctx, c.drop = context.WithCancel(home.ctx)
		calls.Store(c.ID, c)
	}
	return planned, err
}

func (home *channel) start(planned []*call, r *request) {
	begun, atOnce := time.Now(), len(planned)
	if r.Concurrency != nil {
		atOnce = *r.Concurrency
	}
	places := make(chan bool, atOnce)
	var underWay sync.WaitGroup
	for turn, c := range planned {
		if r.Pace != nil {
			time.Sleep(time.Until(begun.Add(time.Duration(int64(turn)**r.Pace) * time.Microsecond)))
		}
		places <- true
		underWay.Go(func() { home.make(c); <-places })
	}
	underWay.Wait()
}

// make makes a call and reports how it ended; one that was cancelled before its turn is not sent.
func (home *channel) make(c *call) {
	startedAt, headers := now(), metadata.MD{}
	ended := status.FromContextError(c.ctx.Err())
	if c.ctx.Err() == nil {
		ended = status.Convert(home.send(c, &headers))
	}
	c.drop()
	calls.Delete(c.ID)
	name := "UNKNOWN"
	if code := int(ended.Code()); code < len(statusNames) {
		name = statusNames[code]
	}
	say("finished", fields{
		"call": c.ID, "status": name, "details": ended.Message(), "hostname": hostname(headers),
		"started_at": startedAt, "ended_at": now(),
	})
}

func (home *channel) send(c *call, headers *metadata.MD) error {
	ctx := c.ctx
	for _, pair := range c.Metadata {
		key, value := pair[0], pair[1]
		if strings.HasSuffix(key, "-bin") {
			decoded, _ := base64.StdEncoding.DecodeString(value)
			value = string(decoded)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	if c.Deadline != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(*c.Deadline)*time.Microsecond)
		defer stop()
	}
	options := []grpc.CallOption{grpc.WaitForReady(c.WaitForReady), grpc.Header(headers)}
	if !c.KeptOpen {
		return home.Invoke(ctx, c.Path, nil, nil, options...)
	}
	desc := &grpc.StreamDesc{StreamName: c.Path, ClientStreams: true, ServerStreams: true}
	stream, err := home.NewStream(ctx, desc, c.Path, options...)
	if err != nil {
		return err
	}
	if *headers, err = stream.Header(); hostname(*headers) != nil {
		say("opened", fields{"call": c.ID, "hostname": hostname(*headers), "at": now()})
	}
	for err == nil {
		err = stream.RecvMsg(nil)
	}
	if err == io.EOF {
		return nil
	}
	return err
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
