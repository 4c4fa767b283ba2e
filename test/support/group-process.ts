/**
 * Runs several test files in this process, one after the other:
 *
 *   node --test-reporter=group-reporter.js group-process.js FILES...
 *
 * Each file is a suite, so its hooks apply only to its own tests. A file that leaves the process in a different state
 * fails, since the next one would be affected.
 */
import { readFileSync } from 'node:fs';
import { Module } from 'node:module';
import { basename } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { GroupMessage } from './group-reporter.ts';

const OPEN_AFTER_MS = 5_000;
const GLOBAL = 'the global ';
const REQUIRE = 'require()';
const files = process.argv.slice(2);

process.on('disconnect', () => process.exit(1));
// The listener would keep the process alive.
process.channel?.unref();

for (const file of files) {
  let before: ReturnType<typeof stateOfProcess> | undefined;
  // At once, unlike the events of the tests: these wait while a file blocks the process.
  process.send?.({ kind: 'started', path: [basename(file)] } satisfies GroupMessage);
  await describe(basename(file), async () => {
    before = stateOfProcess();
    await import(pathToFileURL(file).href);
  });
  const isHooking = /^\/\/ Runs with the others that hook /m.test(readFileSync(file, 'utf8'));
  if (isHooking) before?.delete(REQUIRE);
  const changed = before === undefined || files.length === 1 ? [] : changesSince(before);
  if (changed.length > 0) {
    await describe(basename(file), () => {
      test('leaves the process as it was', () => {
        throw new Error(`Restore in an after() hook: ${changed.join(', ')}`);
      });
    });
  }
}

setTimeout(() => {
  const text = process.getActiveResourcesInfo().join(', ');
  process.send?.({ kind: 'open', text } satisfies GroupMessage);
}, OPEN_AFTER_MS).unref();

/** What tests can change for others. */
function stateOfProcess(): Map<string, unknown> {
  const state = new Map<string, unknown>([
    ['the working directory', process.cwd()],
    [REQUIRE, Module.prototype.require],
  ]);
  for (const [name, value] of Object.entries(process.env))
    state.set(`the environment variable ${name}`, value);
  for (const event of ['uncaughtException', 'unhandledRejection', 'SIGTERM', 'SIGINT', 'warning']) {
    state.set(`listeners to ${event}`, process.listeners(event as 'SIGTERM'));
  }
  // Those that Node loads when they are first read are getters until then.
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(globalThis))) {
    if (value !== undefined) state.set(`${GLOBAL}${name}`, value);
  }
  const openTelemetry = (globalThis as Record<symbol, object | undefined>)[
    Symbol.for('opentelemetry.js.api.1')
  ];
  for (const [name, value] of Object.entries(openTelemetry ?? {})) {
    if (name !== 'version') state.set(`OpenTelemetry's global ${name}`, value);
  }
  return state;
}

function changesSince(before: ReadonlyMap<string, unknown>): string[] {
  const now = stateOfProcess();
  return [...new Set([...before.keys(), ...now.keys()])].filter((name) => {
    if ((name.startsWith(GLOBAL) || name === REQUIRE) && !before.has(name)) return false;
    const [was, is] = [before.get(name), now.get(name)];
    return Array.isArray(was) ? !isDeepStrictEqual(was, is) : !Object.is(was, is);
  });
}
