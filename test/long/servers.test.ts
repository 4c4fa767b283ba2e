/** Servers in Node: MCP under Express with several clients at once, a client in Python, and an app that calls a model. */
import assert from 'node:assert/strict';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { FreshApps, REGISTER } from '../support/fresh-app.ts';
import { assertSums, isModelCall } from '../support/one-run.ts';
import type { CollectedSpan } from '../support/otlp-collector.ts';
import { noPython, pythonProgram, pythonWithPackages } from '../support/python.ts';

let apps: FreshApps;
let folder: string;
before(async () => {
  apps = await FreshApps.start();
  folder = await apps.frames();
  await copyFile(pythonProgram('mcp_client.py'), join(folder, 'mcp_client.py'));
});
after(() => apps[Symbol.asyncDispose]());

const CLIENT = 'observatory.mcp.client.name';

function only(spans: readonly CollectedSpan[], name: string): unknown {
  const values = new Set(spans.map(({ attributes }) => attributes[name]));
  assert.equal(values.size, 1, `${name}: ${[...values]}`);
  return [...values][0];
}

test('a server under Express with two clients at once: each has a session of its own', async () => {
  const clients = (...flags: string[]) => ({
    CLIENTS: ['alice', 'bob']
      .map((name) => [process.execPath, ...flags, 'mcp-client.mjs', name].join())
      .join(' '),
  });
  const bare = await apps.run(folder, 'express-mcp.mjs', { flags: [], env: clients() });
  const { code, stdout, stderr, spans } = await apps.run(folder, 'express-mcp.mjs', {
    env: clients(...REGISTER),
  });
  // Which of the two is told first is chance.
  const lines = (text: string) => text.split('\n').sort();
  assert.deepEqual([code, lines(stdout), stderr], [bare.code, lines(bare.stdout), bare.stderr]);
  assert.equal(stdout.split('was told').length, 7, stdout);
  assert.match(stdout, /^2 sessions$/m);
  const sessions = new Set<unknown>();
  const connections = new Set<unknown>();
  for (const name of ['alice', 'bob']) {
    const served = spans.filter(({ kind, attributes }) => kind === 'SERVER' && attributes[CLIENT] === name);
    assert.deepEqual(served.map((span) => span.name).sort(), [
      'initialize',
      'notifications/initialized',
      ...Array.from({ length: 3 }, () => 'tools/call echo'),
    ]);
    sessions.add(only(served, 'mcp.session.id'));
    connections.add(only(served, 'observatory.connection_id'));
    assert.equal(only(served, 'observatory.mcp.server.name'), 'echo');
    for (const { traceId, parentSpanId } of served) {
      const caller = spans.find(({ spanId }) => spanId === parentSpanId);
      assert.deepEqual(
        [caller?.kind, caller?.attributes[CLIENT], caller?.traceId],
        ['CLIENT', name, traceId],
      );
      assert.equal(caller?.parentSpanId, '');
    }
  }
  assert.ok(!sessions.has(undefined) && sessions.size === 2, 'two sessions');
  assert.ok(!connections.has(undefined) && connections.size === 2, 'two connections');
});

for (const wire of ['stdio', 'http']) {
  test(`a client in Python over ${wire}: one connection, the client named`, {
    skip: noPython(),
  }, async () => {
    const python = await pythonWithPackages();
    const run = (flags: readonly string[]) =>
      wire === 'stdio'
        ? apps.run(folder, 'mcp_client.py', {
            node: python,
            flags: [],
            env: { NODE: process.execPath, SERVER_FLAGS: flags.join(' ') },
          })
        : apps.run(folder, 'express-mcp.mjs', { flags, env: { CLIENTS: `${python},mcp_client.py` } });
    const bare = await run([]);
    const { code, stdout, stderr, spans } = await run(REGISTER);
    assert.equal(code, 0, stderr);
    assert.deepEqual([code, stdout], [bare.code, bare.stdout]);
    assert.equal(stdout.split('"text":"hi"').length, 3, stdout);
    const names = spans.map(({ name }) => name).sort();
    for (const name of ['initialize', 'notifications/initialized', 'tools/list'])
      assert.ok(names.includes(name), name);
    assert.equal(names.filter((name) => name === 'tools/call echo').length, 2, names.join());
    assert.ok(spans.every(({ kind }) => kind === 'SERVER'));
    assert.equal(only(spans, CLIENT), 'python-client');
    assert.equal(only(spans, 'observatory.mcp.client.version'), '3.1.0');
    assert.equal(only(spans, 'observatory.mcp.server.name'), 'echo');
    assert.ok(only(spans, 'observatory.connection_id') !== undefined);
  });
}

test('an Express app that asks a model: each request is one trace, each call once', async () => {
  const bare = await apps.run(folder, 'express-model.mjs', { flags: [] });
  const flags = [...REGISTER, '--import', './http.mjs'];
  const { code, stdout, stderr, spans, sums } = await apps.run(folder, 'express-model.mjs', {
    flags,
    isStored: true,
  });
  assert.deepEqual([code, stdout, stderr], [bare.code, bare.stdout, bare.stderr]);
  assert.equal(stdout, 'done,done,done\n');
  assertSums(sums, 6);
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === '');
  assert.deepEqual(
    roots.map(({ kind }) => kind),
    ['SERVER', 'SERVER', 'SERVER'],
  );
  for (const { spanId, traceId } of roots) {
    const calls = spans.filter((span) => span.traceId === traceId && isModelCall(span));
    assert.deepEqual(
      calls.map((call) => call.parentSpanId),
      [spanId, spanId],
    );
  }
});
