// Spares the adapter what grpc-js-xds does anew at every start: parsing Envoy's .proto files, a second of CPU time.
//
//   node warm.js                                                notes what it has proto-loader load
//   node --snapshot-blob warm.blob --build-snapshot warm.js     loads that, and keeps the heap
//   node --snapshot-blob warm.blob adapter.js                   is the adapter, with proto-loader's answers at hand
//
// Only proto-loader and protobufjs are in the heap that is kept. grpc-js and grpc-js-xds are loaded from their own
// files when the adapter starts, with its environment.
'use strict';

const fs = require('node:fs');
const { createRequire } = require('node:module');
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

// Arguments are data but for the constructors among them, such as `longs: String`.
const asText = (given) => JSON.stringify(given, (_, value) => (typeof value === 'function' ? value.name : value));
const asGiven = (text) => JSON.parse(text, (_, value) => ({ String, Number, Array })[value] ?? value);

function note() {
  const notes = [];
  for (const [name, file] of Object.entries(LOADERS)) {
    const loader = xds(file);
    const real = loader[name];
    loader[name] = (...given) => {
      notes.push([name, asText(given)]);
      return real(...given);
    };
  }
  own('@grpc/grpc-js-xds').register();
  // Some files are asked for by the first channel only.
  const server = { server_uri: 'dns:///nowhere.invalid', channel_creds: [{ type: 'insecure' }] };
  process.env.GRPC_XDS_BOOTSTRAP_CONFIG = JSON.stringify({ xds_servers: [server], node: { id: '', locality: {} } });
  const { Client, credentials } = own('@grpc/grpc-js');
  new Client('xds:///nothing', credentials.createInsecure()).getChannel().getConnectivityState(true);
  fs.writeFileSync(NOTES, JSON.stringify(notes));
  process.exit(0);
}

const modules = new Map(); // by file, as require keeps them

// Node.js takes no module into a snapshot that its own require has loaded.
function load(file) {
  if (!modules.has(file)) {
    const module = { id: file, filename: file, exports: {}, children: [], paths: [], loaded: true };
    modules.set(file, module);
    const source = fs.readFileSync(file, 'utf8');
    if (file.endsWith('.json')) {
      module.exports = JSON.parse(source);
    } else {
      const { resolve } = createRequire(file);
      const needs = (name) => (path.isAbsolute(resolve(name)) ? load(resolve(name)) : require(name));
      const body = `${source}\n//# sourceURL=${file}`;
      new Function('exports', 'require', 'module', '__filename', '__dirname', body)(
        module.exports, needs, module, file, path.dirname(file));
    }
  }
  return modules.get(file).exports;
}

function keep() {
  const answers = new Map();
  const notes = JSON.parse(fs.readFileSync(NOTES));
  for (const [name, file] of Object.entries(LOADERS)) {
    const loader = load(file);
    const real = loader[name];
    for (const [called, text] of notes) {
      if (called === name) answers.set(name + text.replaceAll(HOME, ''), real(...asGiven(text)));
    }
    loader[name] = (...given) => {
      const text = asText(given).replaceAll(`${path.dirname(process.argv[1])}/`, '');
      return answers.get(name + text) ?? real(...given);
    };
  }
  startupSnapshot.setDeserializeMainFunction(() => {
    const adapter = createRequire(process.argv[1]);
    const home = `${path.dirname(process.argv[1])}/`;
    for (const [file, module] of modules) adapter.cache[file.replace(HOME, home)] = module;
    adapter(process.argv[1]);
  });
}

if (startupSnapshot.isBuildingSnapshot()) keep();
else note();
