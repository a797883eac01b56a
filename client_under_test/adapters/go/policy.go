package main

import (
	"encoding/json"
	"fmt"
	"math"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

var instances atomic.Int64 // of all policies of the process

// numbered is a policy as register_policy wants it: it picks an endpoint by its number.
type numbered struct {
	name   string
	number int // of the request
}

type numberedConfig struct {
	serviceconfig.LoadBalancingConfig
	given    string
	endpoint float64
}

// MarshalJSON is what the policies above hand down: they write a parsed config, and parse that again.
func (c *numberedConfig) MarshalJSON() ([]byte, error) { return []byte(c.given), nil }

func (p numbered) Name() string { return p.name }

func (p numbered) ParseConfig(given json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(given, &all); err != nil {
		return nil, err
	}
	config := &numberedConfig{given: string(given)}
	if text, is := all["endpoint"]; is {
		var value *float64
		if err := json.Unmarshal(text, &value); err != nil {
			return nil, err
		}
		if value == nil || *value < 0 || *value != math.Trunc(*value) {
			return nil, fmt.Errorf("endpoint %s is no whole number from 0 on", text)
		}
		config.endpoint = *value
	}
	return config, nil
}

func (p numbered) Build(cc balancer.ClientConn, options balancer.BuildOptions) balancer.Balancer {
	below := balancer.Get(grpc.PickFirstBalancerName).Build(cc, options)
	return &instance{below, p.number, instances.Add(1)}
}

// instance hands all it is told to pick_first, but of the endpoints one alone.
type instance struct {
	balancer.Balancer
	policy int
	number int64
}

func (i *instance) UpdateClientConnState(update balancer.ClientConnState) error {
	config := update.BalancerConfig.(*numberedConfig)
	state := update.ResolverState
	endpoints := state.Endpoints
	if len(endpoints) == 0 { // some versions have addresses alone below weighted_target
		for _, address := range state.Addresses {
			one := resolver.Endpoint{Addresses: []resolver.Address{address}}
			endpoints = append(endpoints, one)
		}
	}
	told := [][]string{}
	for _, endpoint := range endpoints {
		addresses := []string{}
		for _, address := range endpoint.Addresses {
			addresses = append(addresses, address.Addr)
		}
		told = append(told, addresses)
	}
	say("policy_update", fields{
		"policy": i.policy, "instance": i.number, "config": config.given, "endpoints": told,
		"at": now(),
	})
	if len(endpoints) > 0 {
		one := endpoints[int(math.Mod(config.endpoint, float64(len(endpoints))))]
		state.Endpoints, state.Addresses = []resolver.Endpoint{one}, one.Addresses
	}
	return i.Balancer.UpdateClientConnState(balancer.ClientConnState{ResolverState: state})
}

// ExitIdle is for versions in which not every policy has it.
func (i *instance) ExitIdle() {
	if below, has := i.Balancer.(interface{ ExitIdle() }); has {
		below.ExitIdle()
	}
}
