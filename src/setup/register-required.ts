/**
 * `node --require mcp-observatory/register app.js`. What `--import` does takes a few turns of the event loop, so the
 * program is held back until that is done. A CommonJS module with imports of Node alone.
 */
import Module from 'node:module';
import { isMainThread, parentPort } from 'node:worker_threads';

/** Beside this file in the package; not bundled into it, since `--import` loads the same module. */
const REGISTER = './register.js';
const INSTEAD = 'Write: node --import mcp-observatory/register';

if (isMainThread) {
  const registered = import(REGISTER).catch((error: unknown) => {
    say(`could not start; the application runs without telemetry: ${String(error)}`);
  });
  if (module.isPreloading === true) holdProgram(registered);
} else if (parentPort !== null) {
  // Node's own threads, such as that of the hooks, have no parent port.
  say(`--require does not reach worker threads. ${INSTEAD}`);
}

function holdProgram(registered: Promise<unknown>): void {
  // The awaited work may not keep the process alive by itself.
  const alive = setInterval(() => {}, 60_000);
  let isHeld = false;
  // Node calls the function that stands here after it has loaded what is required first.
  const { runMain } = Module;
  Module.runMain = (...args) => {
    Module.runMain = runMain;
    isHeld = true;
    // Not from the promise, so that an error of the program stays an uncaught exception, and without a frame of ours.
    void registered.then(() => setImmediate(runMain.bind(Module, ...args)));
  };
  void registered.then(() => {
    clearInterval(alive);
    if (isHeld) return;
    Module.runMain = runMain;
    say(`--require cannot hold back a program without a file. ${INSTEAD}`);
  });
}

function say(text: string): void {
  process.stderr.write(`mcp-observatory: ${text}\n`);
}
