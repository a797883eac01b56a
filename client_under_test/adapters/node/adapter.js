// Drives grpc-js for the suite: JSON lines on stdin and stdout, as ../contract.md says.
'use strict';

const readline = require('node:readline');
const { setTimeout: sleep } = require('node:timers/promises');

const grpc = require('@grpc/grpc-js');
const xds = require('@grpc/grpc-js-xds');
const { version } = require('@grpc/grpc-js-xds/package.json');

const policy = require('./policy.js');

const CONTRACT = 2;
const CAPABILITIES = 'metadata wait_for_ready kept_open cancel channels watch connect custom_policy'.split(' ');
// Before 1.13 the resolver has no such option.
const [major, minor] = version.split('.').map(Number);
if (major > 1 || minor >= 13) CAPABILITIES.push('bootstrap_per_channel');

// Retries would hide failures; shared subchannels would carry backoff from channel to channel.
const OPTIONS = { 'grpc.enable_retries': 0, 'grpc.use_local_subchannel_pool': 1 };

const NO_BYTES = Buffer.alloc(0);
const asIs = (bytes) => bytes;

let zero;
const channels = new Map(); // clients, by the channel's number
const calls = new Map(); // those that have not finished, by id: { channel, rpc once its turn came }

const now = () => Number((process.hrtime.bigint() - zero) / 1000n);

const say = (type, fields) => process.stdout.write(`${JSON.stringify({ type, ...fields })}\n`);

function channelOf(request) {
  const client = channels.get(request.channel);
  if (client === undefined) throw new Error(`channel ${request.channel} is not open`);
  return client;
}

// Each throws if it cannot be done, and gives a promise if it is done later than at its return.
const requests = {
  register_policy({ id, name }) {
    policy.register(name, (instance, given, endpoints) => {
      const config = JSON.stringify(given);
      say('policy_update', { policy: id, instance, config, endpoints, at: now() });
    });
  },

  open_channel({ id, target, options, service_config, bootstrap }) {
    const credentials = grpc.credentials.createInsecure();
    const all = { ...OPTIONS, ...options };
    if (bootstrap) all['grpc.TEST_ONLY_DO_NOT_USE_IN_PROD.xds_bootstrap_config'] = bootstrap;
    if (service_config) all['grpc.service_config'] = service_config;
    channels.set(id, new grpc.Client(target, credentials, all));
  },

  start_calls(request) {
    const client = channelOf(request);
    for (const { id } of request.calls) calls.set(id, { channel: request.channel });
    return request.pace === null ? atOnce(client, request) : paced(client, request);
  },

  cancel(request) {
    drop(request.calls);
  },

  watch(request) {
    return follow(request.channel, channelOf(request).getChannel());
  },

  connect(request) {
    channelOf(request).getChannel().getConnectivityState(true);
  },

  close(request) {
    const client = channelOf(request);
    channels.delete(request.channel);
    drop([...calls].filter(([, { channel }]) => channel === request.channel).map(([id]) => id));
    client.close();
  },
};

function drop(ids) {
  for (const id of ids) {
    const call = calls.get(id);
    calls.delete(id);
    call?.rpc?.cancel();
  }
}

async function follow(number, channel) {
  for (;;) {
    const state = channel.getConnectivityState(false);
    say('state', { channel: number, state: grpc.connectivityState[state], at: now() });
    if (state === grpc.connectivityState.SHUTDOWN) return;
    await new Promise((changed) => channel.watchConnectivityState(state, Infinity, changed));
  }
}

async function atOnce(client, { calls: planned, concurrency }) {
  const turns = planned.values();
  const work = async () => {
    for (const call of turns) await make(client, call);
  };
  await Promise.all(Array.from({ length: concurrency ?? planned.length }, work));
}

async function paced(client, { calls: planned, pace }) {
  const begun = now();
  const made = [];
  for (const [turn, call] of planned.entries()) {
    await sleep((begun + turn * pace - now()) / 1000);
    made.push(make(client, call));
  }
  await Promise.all(made);
}

// Makes a call and reports how it ended; one that was cancelled before its turn is not sent.
async function make(client, planned) {
  const { id } = planned;
  const started_at = now();
  let hostname = null;
  let ended = { code: grpc.status.CANCELLED, details: 'cancelled before it was sent' };
  if (calls.has(id)) {
    const rpc = begin(client, planned);
    calls.get(id).rpc = rpc;
    rpc.on('metadata', (headers) => {
      hostname = headers.get('hostname')[0] ?? null;
      if (planned.kept_open && hostname !== null) say('opened', { call: id, hostname, at: now() });
    });
    ended = await new Promise((resolve) => rpc.on('status', resolve));
    calls.delete(id);
  }
  const status = grpc.status[ended.code] ?? 'UNKNOWN';
  say('finished', { call: id, status, details: ended.details, hostname, started_at, ended_at: now() });
}

function begin(client, { path, metadata: pairs, deadline, wait_for_ready, kept_open }) {
  const metadata = new grpc.Metadata({ waitForReady: wait_for_ready });
  for (const [key, value] of pairs) {
    metadata.add(key, key.endsWith('-bin') ? Buffer.from(value, 'base64') : value);
  }
  const options = deadline === null ? {} : { deadline: Date.now() + deadline / 1000 };
  if (!kept_open) {
    return client.makeUnaryRequest(path, asIs, asIs, NO_BYTES, metadata, options, () => {});
  }
  const stream = client.makeBidiStreamRequest(path, asIs, asIs, metadata, options);
  stream.on('error', () => {}); // what it tells is in the status
  stream.resume();
  return stream;
}

async function answer(line) {
  let request;
  try {
    request = JSON.parse(line);
  } catch (trouble) {
    say('error', { id: null, message: trouble.message });
    return;
  }
  const { id, type } = request;
  if (type === 'hello') {
    zero ??= process.hrtime.bigint();
    const about = { contract: CONTRACT, name: 'grpc-js-xds', version, capabilities: CAPABILITIES };
    say('hello', { id, ...about, at: now() });
    return;
  }
  let rest;
  try {
    if (!Object.hasOwn(requests, type)) throw new Error(`there is no request ${type}`);
    rest = requests[type](request);
  } catch (trouble) {
    say('error', { id, message: `${trouble}` });
    return;
  }
  await rest; // what the client throws from here on ends the process, as it would end any program
  say('done', { id });
}

xds.register();
// The end of stdin means exit: whatever is still open is dropped.
readline.createInterface({ input: process.stdin }).on('line', answer).on('close', () => process.exit(0));
