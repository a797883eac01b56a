// Package fakexds starts xdspec's fake xDS control plane and its backends for Go tests.
//
// New starts both, waits until they listen, and stops them at the end of the test. The servers are
// Python programs: the interpreter in XDSPEC_PYTHON (default: python3) must have xdspec installed.
package fakexds

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"xdspec/fakexds/controlpb"
)

// Config selects what Start starts. The zero value is a control plane without resources and one backend.
type Config struct {
	// Resources is a folder of protojson or YAML files to serve. Empty: nothing until Set.
	Resources string
	// Backends is the number of backends; 0 means one.
	Backends int
	// Python is the interpreter with xdspec installed. Empty: $XDSPEC_PYTHON, else python3.
	Python string
}

// Servers are a running control plane and its backends.
type Servers struct {
	XDS      string   // address of ADS and LRS
	Control  string   // address of the control service
	Backends []string // addresses of the backends
	// Client calls the control service.
	Client controlpb.ControlClient

	conn      *grpc.ClientConn
	processes []*process
	folder    string
}

// New starts servers for one test, fails the test if they do not start, and stops them at its end.
func New(t testing.TB, config Config) *Servers {
	t.Helper()
	servers, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := servers.Close(); err != nil {
			t.Error(err)
		}
	})
	return servers
}

// Start starts the servers and returns when they listen. The caller must call Close. The context
// limits the start only.
func Start(ctx context.Context, config Config) (*Servers, error) {
	servers := &Servers{}
	if err := servers.start(ctx, config); err != nil {
		return nil, errors.Join(err, servers.Close())
	}
	return servers, nil
}

func (s *Servers) start(ctx context.Context, config Config) error {
	python := config.Python
	if python == "" {
		python = os.Getenv("XDSPEC_PYTHON")
	}
	if python == "" {
		python = "python3"
	}
	resources := config.Resources
	if resources == "" {
		folder, err := os.MkdirTemp("", "fakexds-")
		if err != nil {
			return err
		}
		s.folder, resources = folder, folder
	}
	plane, err := s.run(ctx, python, 2, "-m", "fake_control_plane", "--resources", resources)
	if err != nil {
		return err
	}
	s.XDS, s.Control = plane[0], plane[1]
	count := max(config.Backends, 1)
	s.Backends, err = s.run(ctx, python, count, "-m", "test_servers", "--count", strconv.Itoa(count))
	if err != nil {
		return err
	}
	s.conn, err = grpc.NewClient(s.Control, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	s.Client = controlpb.NewControlClient(s.conn)
	return nil
}

// Bootstrap returns a bootstrap configuration for this control plane.
func (s *Servers) Bootstrap(node string) []byte {
	text, _ := json.Marshal(map[string]any{
		"xds_servers": []any{map[string]any{
			"server_uri":    s.XDS,
			"channel_creds": []any{map[string]string{"type": "insecure"}},
		}},
		"node": map[string]string{"id": node},
	})
	return text
}

// Resolver returns a resolver for xds:/// targets of this control plane, for grpc.WithResolvers.
// It needs no environment variable, which grpc-go would have read before the test began.
func (s *Servers) Resolver(node string) (resolver.Builder, error) {
	return xds.NewXDSResolverWithConfigForTesting(s.Bootstrap(node))
}

// Set adds resources, or replaces those of the same type and name, and sends them to subscribers.
func (s *Servers) Set(ctx context.Context, resources ...proto.Message) (*controlpb.Push, error) {
	request := &controlpb.SetRequest{}
	for _, resource := range resources {
		packed, err := anypb.New(resource)
		if err != nil {
			return nil, err
		}
		request.Resources = append(request.Resources, packed)
	}
	return s.Client.Set(ctx, request)
}

// Wait returns the first transcript event, past or future, that the function accepts.
func (s *Servers) Wait(ctx context.Context, since int64, fits func(*controlpb.Event) bool) (*controlpb.Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := s.Client.Transcript(ctx, &controlpb.TranscriptRequest{Since: since})
	if err != nil {
		return nil, err
	}
	for {
		event, err := events.Recv()
		if err != nil {
			return nil, fmt.Errorf("no such event in the transcript: %w", err)
		}
		if fits(event) {
			return event, nil
		}
	}
}

// Close stops the servers.
func (s *Servers) Close() error {
	var errs []error
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	for _, one := range s.processes {
		errs = append(errs, one.stop())
	}
	if s.folder != "" {
		errs = append(errs, os.RemoveAll(s.folder))
	}
	s.conn, s.processes, s.folder = nil, nil, ""
	return errors.Join(errs...)
}

type process struct {
	command *exec.Cmd
	stdin   io.Closer
	stderr  *strings.Builder
}

// Starts a server and reads the addresses that it announces, one JSON object a line.
func (s *Servers) run(ctx context.Context, python string, count int, arguments ...string) ([]string, error) {
	one := &process{command: exec.Command(python, append(arguments, "--until-eof")...), stderr: &strings.Builder{}}
	one.command.Stderr = one.stderr
	stdin, err := one.command.StdinPipe() // the kernel closes it if this program dies
	if err != nil {
		return nil, err
	}
	one.stdin = stdin
	stdout, err := one.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := one.command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s (set XDSPEC_PYTHON to a Python that has xdspec): %w", python, err)
	}
	s.processes = append(s.processes, one)
	stop := context.AfterFunc(ctx, func() { _ = one.command.Process.Kill() })
	defer stop()
	var addresses []string
	for lines := bufio.NewScanner(stdout); len(addresses) < count && lines.Scan(); {
		var line struct{ Address string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Address == "" {
			return nil, fmt.Errorf("%s: not an announced address: %s", strings.Join(arguments, " "), lines.Text())
		}
		addresses = append(addresses, line.Address)
	}
	if len(addresses) < count {
		return nil, errors.Join(fmt.Errorf("%s %s did not start", python, strings.Join(arguments, " ")), one.stop(), ctx.Err())
	}
	return addresses, nil
}

func (p *process) stop() error {
	_ = p.stdin.Close()
	if err := p.command.Wait(); err != nil && !strings.Contains(err.Error(), "Wait was already called") {
		return fmt.Errorf("%s: %w\n%s", strings.Join(p.command.Args, " "), err, p.stderr)
	}
	return nil
}
