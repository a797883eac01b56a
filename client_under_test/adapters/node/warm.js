// Spares the adapter what it would do anew, and alike, at every start: a second of CPU time.
//
//   node warm.js                                                notes which modules it needs, and which .proto files
//   node --snapshot-blob warm.blob --build-snapshot warm.js     reads all these, and keeps the heap
//   node --snapshot-blob warm.blob adapter.js                   is the adapter, with all that at hand
//
// Of the modules, only proto-loader and protobufjs have been run in the heap that is kept, and have read and written a few
// messages there. All others, grpc-js and grpc-js-xds among them, have been found, read and parsed; they run when the
// adapter starts, in its environment.
'use strict';

const fs = require('node:fs');
const { Module, createRequire } = require('node:module');
const path = require('node:path');
const { startupSnapshot } = require('node:v8');

const HOME = `${__dirname}/`; // ends like this everywhere; the folder may be moved when it is ready
const NOTES = `${HOME}warm.json`;
const own = createRequire(HOME);
const xds = createRequire(own.resolve('@grpc/grpc-js-xds'));
const LOADERS = {
  loadSync: xds.resolve('@grpc/proto-loader'),
  loadProtosWithOptionsSync: xds.resolve('@grpc/proto-loader/build/src/util.js'),
};

// What a control plane tells every client, and how it is asked. protobufjs makes its code for a kind of message when it meets
// the first one; what is not here is met later, as ever.
const HCM = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const ANY = { type_url: `type.googleapis.com/${HCM}`, value: Buffer.alloc(0) };
const ADS = { resource_api_version: 'V3', ads: {} };
const LOCALITY = { region: 'r', zone: 'z', sub_zone: 's' };
const ROUTE = {
  match: { prefix: '/' },
  route: { cluster: 'c', hash_policy: [{ header: { header_name: 'h' }, terminal: true }] },
};
const ENDPOINT = { address: { socket_address: { address: '127.0.0.1', port_value: 1 } } };
const RESOURCES = {
  'envoy.config.listener.v3.Listener': { name: 'l', api_listener: { api_listener: ANY } },
  [HCM]: { rds: { config_source: ADS, route_config_name: 'r' }, http_filters: [{ name: 'f', typed_config: ANY }] },
  'envoy.config.route.v3.RouteConfiguration': {
    name: 'r',
    virtual_hosts: [{ name: 'v', domains: ['*'], routes: [ROUTE] }],
  },
  'envoy.config.cluster.v3.Cluster': {
    name: 'c',
    type: 'EDS',
    eds_cluster_config: { eds_config: ADS, service_name: 's' },
    lb_policy: 'RING_HASH',
    ring_hash_lb_config: { minimum_ring_size: { value: 1 } },
  },
  'envoy.config.endpoint.v3.ClusterLoadAssignment': {
    cluster_name: 's',
    endpoints: [
      {
        locality: LOCALITY,
        lb_endpoints: [{ endpoint: ENDPOINT, health_status: 'HEALTHY', load_balancing_weight: { value: 1 } }],
        load_balancing_weight: { value: 1 },
      },
    ],
  },
};
const NODE = { id: 'n', locality: LOCALITY, user_agent_name: 'a', user_agent_version: '1', client_features: ['f'] };
const REQUEST = { version_info: '1', node: NODE, resource_names: ['n'], type_url: 't', response_nonce: '1' };
const RESPONSE = { version_info: '1', resources: [ANY], type_url: 't', nonce: '1' };

// Arguments are data but for the constructors among them, such as `longs: String`.
const asText = (given) => JSON.stringify(given, (_, value) => (typeof value === 'function' ? value.name : value));
const asGiven = (text) => JSON.parse(text, (_, value) => ({ String, Number, Array })[value] ?? value);

function note() {
  const needs = {}; // by file: the files that it asked for, by what it called them
  const plain = Module.prototype.require;
  Module.prototype.require = function (wanted) {
    const file = createRequire(this.filename).resolve(wanted);
    if (path.isAbsolute(file)) {
      needs[file] ??= {};
      if (this.filename in needs) needs[this.filename][wanted] = file; // else it is this file that asks
    }
    return plain.call(this, wanted);
  };
  const calls = [];
  let inside = false; // one of them calls the other
  for (const [name, file] of Object.entries(LOADERS)) {
    const loader = xds(file);
    const real = loader[name];
    loader[name] = (...given) => {
      if (inside) return real(...given);
      calls.push([name, asText(given)]);
      inside = true;
      const answer = real(...given);
      inside = false;
      return answer;
    };
  }
  own('./adapter.js');
  // Some files are asked for by the first channel only.
  const server = { server_uri: 'dns:///nowhere.invalid', channel_creds: [{ type: 'insecure' }] };
  process.env.GRPC_XDS_BOOTSTRAP_CONFIG = JSON.stringify({ xds_servers: [server], node: { id: '', locality: {} } });
  const { Client, credentials } = own('@grpc/grpc-js');
  new Client('xds:///nothing', credentials.createInsecure()).getChannel().getConnectivityState(true);
  fs.writeFileSync(NOTES, JSON.stringify({ needs, calls }));
  process.exit(0);
}

let home = HOME;
let cache = {}; // the modules that have been run, by file
let other = () => require; // how a file asks for what was not noted, such as Node.js' own modules
const read = new Map(); // by file as it is named from home: what runs it, and what it needs

// Node.js takes no module into a snapshot that its own require has loaded.
function load(name) {
  const file = home + name;
  if (!Object.hasOwn(cache, file)) {
    const module = { id: file, filename: file, exports: {}, children: [], paths: [], loaded: true };
    cache[file] = module;
    const { run, needs } = read.get(name);
    const need = (wanted) => (Object.hasOwn(needs, wanted) ? load(needs[wanted]) : other(file)(wanted));
    run.call(module.exports, module.exports, need, module, file, path.dirname(file));
  }
  return cache[file].exports;
}

function readModule(name, needs) {
  const source = fs.readFileSync(HOME + name, 'utf8');
  if (name.endsWith('.json')) {
    const exports = JSON.parse(source);
    return { needs, run: (...[, , module]) => Object.assign(module, { exports }) };
  }
  // One line, so that traces have the lines of the file.
  const body = `(function (exports, require, module, __filename, __dirname) {${source}\n})\n//# sourceURL=${name}`;
  return { needs, run: (0, eval)(body) };
}

function keep() {
  const notes = fs.readFileSync(NOTES, 'utf8');
  const { needs } = JSON.parse(notes.replaceAll(HOME, ''));
  for (const name of Object.keys(needs)) read.set(name, readModule(name, needs[name]));
  const answers = new Map();
  for (const [name, file] of Object.entries(LOADERS)) {
    const loader = load(file.replace(HOME, ''));
    const real = loader[name];
    for (const [called, text] of JSON.parse(notes).calls) {
      if (called === name) answers.set(name + text.replaceAll(HOME, ''), real(...asGiven(text)));
    }
    loader[name] = (...given) => answers.get(name + asText(given).replaceAll(home, '')) ?? real(...given);
  }
  for (const answer of answers.values()) practise(answer);
  startupSnapshot.setDeserializeMainFunction(start);
}

// An answer of proto-loader is a tree of types, or the services in one, by their full names.
function practise(answer) {
  for (const [name, resource] of Object.entries(RESOURCES)) {
    const type = answer.lookup?.(name);
    if (type) type.toObject(type.decode(type.encode(type.fromObject(resource)).finish()), { defaults: true });
  }
  const ads = answer['envoy.service.discovery.v3.AggregatedDiscoveryService']?.StreamAggregatedResources;
  ads?.requestSerialize(REQUEST);
  ads?.responseDeserialize(ads.responseSerialize(RESPONSE));
}

function start() {
  const kept = Object.entries(cache);
  home = `${path.dirname(process.argv[1])}/`;
  ({ cache } = createRequire(home));
  other = createRequire;
  for (const [file, module] of kept) cache[file.replace(HOME, home)] = module;
  load(path.basename(process.argv[1]));
}

if (startupSnapshot.isBuildingSnapshot()) keep();
else note();
