// Drives the client for xdspec: JSON lines on stdin and stdout, as contract.md says.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	contract = 2
	name     = "scaffold" // what the library calls itself
	version  = "0.1.0"    // as in client.toml; better grpc.Version, once that is imported
)

// capabilities is in client.toml too: change both.
var capabilities = []string{"metadata", "wait_for_ready", "kept_open", "cancel", "channels", "watch", "connect"}

type fields map[string]any

type request struct {
	Type        string
	ID          int
	Target      string
	Options     map[string]any
	Channel     int
	Calls       json.RawMessage // of start_calls: a list of call; of cancel: ids
	Concurrency *int
	Pace        *int64 // microseconds
}

type call struct {
	ID           string
	Path         string
	Metadata     [][2]string // values of keys that end in -bin are base64
	Deadline     *int64      // microseconds from the call's own start
	WaitForReady bool        `json:"wait_for_ready"`
	KeptOpen     bool        `json:"kept_open"`
}

var (
	zero    time.Time
	talking sync.Mutex
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
		if r.Type == "hello" {
			hello(r)
			continue
		}
		rest, err := begin(r)
		if err != nil {
			say("error", fields{"id": r.ID, "message": err.Error()})
			continue
		}
		go func() {
			if rest != nil {
				rest()
			}
			say("done", fields{"id": r.ID})
		}()
	}
}

func say(kind string, said fields) {
	said["type"] = kind
	line, _ := json.Marshal(said)
	talking.Lock()
	defer talking.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

// now is in microseconds since the first hello.
func now() int64 { return time.Since(zero).Microseconds() }

func hello(r *request) {
	if zero.IsZero() {
		zero = time.Now()
	}
	say("hello", fields{
		"id": r.ID, "contract": contract, "name": name, "version": version,
		"capabilities": capabilities, "at": now(),
	})
}

// begin does what must happen in the order of the requests, and returns the rest, which may take long.
// The rest runs while later requests are handled, and the adapter writes `done` at its end.
//
// So begin enters the calls of a start_calls into a table, and a cancel finds them all there. A call that waits
// for its turn has nothing to cancel yet: mark it, and look at the mark when its turn comes. The call then
// finishes as CANCELLED and is not sent.
func begin(r *request) (rest func(), err error) {
	switch r.Type { // in the order in which `xdspec doctor` asks for them
	case "open_channel", "start_calls", "cancel", "watch", "connect", "close":
		return nil, errors.New(r.Type + " is not written yet")
	}
	return nil, fmt.Errorf("there is no request %q", r.Type)
}
