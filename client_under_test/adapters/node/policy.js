// A policy as register_policy wants it: it picks an endpoint by its number.
'use strict';

const { experimental } = require('@grpc/grpc-js');

const ANY_ENDPOINT = { pick_first: {} };

let instances = 0; // of all policies of the process

// tell(instance, config, endpoints) is called before the policy acts on them.
exports.register = (name, tell) => {
  class Config {
    constructor(given) {
      const { endpoint = 0 } = given;
      if (!Number.isInteger(endpoint) || endpoint < 0) {
        throw new Error(`endpoint ${JSON.stringify(endpoint)} is no whole number from 0 on`);
      }
      this.given = given;
      this.endpoint = endpoint;
    }

    static createFromJson(given) {
      return new Config(given);
    }

    getLoadBalancerName() {
      return name;
    }

    toJsonObject() {
      return { [name]: this.given };
    }
  }

  // Passes on to pick_first all that it does not do itself. Versions differ in what more they give.
  class Instance {
    constructor(...given) {
      this.number = ++instances;
      this.below = new experimental.ChildLoadBalancerHandler(...given);
    }

    updateAddressList(found, config, ...more) {
      const below = experimental.parseLoadBalancingConfig(ANY_ENDPOINT);
      const endpoints = Array.isArray(found) ? found : found.value;
      if (endpoints === undefined) return this.below.updateAddressList(found, below, ...more); // a failure
      const told = endpoints.map(({ addresses }) => addresses.map(experimental.subchannelAddressToString));
      tell(this.number, config.given, told);
      const chosen = endpoints.length === 0 ? [] : [endpoints[config.endpoint % endpoints.length]];
      const handed = Array.isArray(found) ? chosen : experimental.statusOrFromValue(chosen);
      return this.below.updateAddressList(handed, below, ...more);
    }

    exitIdle() {
      this.below.exitIdle();
    }

    resetBackoff() {
      this.below.resetBackoff();
    }

    destroy() {
      this.below.destroy();
    }

    getTypeName() {
      return name;
    }
  }

  experimental.registerLoadBalancerType(name, Instance, Config);
};
