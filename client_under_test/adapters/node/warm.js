// Spares the adapter what it would do anew, and alike, at every start: a second of CPU time.
//
//   node warm.js                                                notes which modules it needs, and which .proto files
//   node --snapshot-blob warm.blob --build-snapshot warm.js     reads all these, and keeps the heap
//   node --snapshot-blob warm.blob adapter.js                   is the adapter, with all that at hand
//
// Of the modules, only proto-loader and protobufjs have been run in the heap that is kept. All others, grpc-js and
// grpc-js-xds among them, have been found, read and parsed; they run when the adapter starts, in its environment.
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
  startupSnapshot.setDeserializeMainFunction(start);
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
