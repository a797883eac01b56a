// A grpc-go client as you would start it by hand, for a world that `xdspec serve` keeps up, and a
// way to the control service of that world.
//
//	GRPC_XDS_BOOTSTRAP=… go run . calls              makes the calls of files named on stdin
//	go run . control ADDRESS METHOD REQUEST          asks the control service, in protojson
//
// Each line on standard input of `calls` is the file that a step tells of. All of them are made on
// one channel, without any id: what the suite knows of them is what the backends see.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds" // the resolver and the balancers
	"google.golang.org/protobuf/types/known/emptypb"
)

const target = "xds:///xdspec.test"

// A call as the file has it.
type call struct {
	Path         string
	Metadata     [][2]string // values of keys that end in -bin are base64
	Deadline     *float64    // seconds
	WaitForReady bool        `json:"wait_for_ready"`
}

func main() {
	var err error
	switch words := os.Args[1:]; {
	case len(words) == 1 && words[0] == "calls":
		err = calls()
	case len(words) == 4 && words[0] == "control":
		err = control(words[1], words[2], words[3])
	default:
		err = fmt.Errorf("usage: calls | control ADDRESS METHOD REQUEST")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func calls() error {
	conn, err := grpc.NewClient(target,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	if err != nil {
		return err
	}
	defer conn.Close()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		text, err := os.ReadFile(strings.TrimSpace(lines.Text()))
		if err != nil {
			return err
		}
		var wanted []call
		if err := json.Unmarshal(text, &wanted); err != nil {
			return err
		}
		ended := map[string]int{}
		var counting sync.Mutex
		var under sync.WaitGroup
		for _, one := range wanted { // all at once; a step says how many it wants at a time
			under.Go(func() {
				code := status.Code(one.make(conn)).String()
				counting.Lock()
				ended[code]++
				counting.Unlock()
			})
		}
		under.Wait()
		told, _ := json.Marshal(ended)
		fmt.Println(string(told))
	}
	return nil
}

// Makes a call; put your breakpoint here.
func (c call) make(conn *grpc.ClientConn) error {
	ctx := context.Background()
	if c.Deadline != nil {
		limit := time.Duration(*c.Deadline * float64(time.Second))
		within, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = within
	}
	for _, pair := range c.Metadata {
		key, value := pair[0], pair[1]
		if key == "xdspec-call" { // send it, too, if you like: then calls can be told apart
			continue
		}
		if strings.HasSuffix(key, "-bin") {
			bytes, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return err
			}
			value = string(bytes)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	// An empty request is no bytes, and what is in the response does not matter.
	return conn.Invoke(ctx, c.Path, &emptypb.Empty{}, &emptypb.Empty{},
		grpc.WaitForReady(c.WaitForReady))
}
