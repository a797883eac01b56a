// Drives the client for xdspec: JSON lines on stdin and stdout, as contract.md says.
'use strict';

const readline = require('node:readline');

const CONTRACT = 2;
const NAME = 'scaffold'; // what the library calls itself
const VERSION = '0.1.0'; // as in client.toml; better: require('PACKAGE/package.json').version
// client.toml has this list too: change both.
const CAPABILITIES = ['metadata', 'wait_for_ready', 'kept_open', 'cancel', 'channels', 'watch', 'connect'];

let zero;

const now = () => Number((process.hrtime.bigint() - zero) / 1000n); // microseconds since the first hello

const say = (type, fields) => process.stdout.write(`${JSON.stringify({ type, ...fields })}\n`);

// To write, in the order in which `xdspec doctor` asks for them. Each may return a promise. The adapter writes
// `done` when it resolves, and handles other requests until then. It reports what throws as `error`.
const requests = {
  open_channel({ id, target, options }) {
    throw new Error('open_channel is not written yet');
  },

  start_calls({ channel, calls, concurrency, pace }) {
    throw new Error('start_calls is not written yet');
  },

  // A call that waits for its turn has nothing to cancel yet. Remember its id, and look it up when its turn comes:
  // the call then finishes as CANCELLED and is not sent.
  cancel({ calls }) {
    throw new Error('cancel is not written yet');
  },

  watch({ channel }) {
    throw new Error('watch is not written yet');
  },

  connect({ channel }) {
    throw new Error('connect is not written yet');
  },

  close({ channel }) {
    throw new Error('close is not written yet');
  },
};

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
    const about = { contract: CONTRACT, name: NAME, version: VERSION, capabilities: CAPABILITIES };
    say('hello', { id, ...about, at: now() });
    return;
  }
  try {
    if (!Object.hasOwn(requests, type)) throw new Error(`there is no request ${type}`);
    await requests[type](request);
  } catch (trouble) {
    say('error', { id, message: trouble.stack.split('\n', 2).join('') }); // what, and where
    return;
  }
  say('done', { id });
}

// The end of stdin means exit: whatever is still open is dropped.
readline.createInterface({ input: process.stdin }).on('line', answer).on('close', () => process.exit(0));
