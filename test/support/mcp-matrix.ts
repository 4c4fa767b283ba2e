/**
 * Programs of their own, hooked with `--import` alone: {v1, v2} x {ES module, CommonJS} as client and as server, over
 * stdio, Streamable HTTP and in memory. Every combination must give the same one trace.
 */
import assert from 'node:assert/strict';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { arrived, assertModernTrace, assertOneTrace, modernArrived } from './mcp-matrix-shape.ts';
import { OtlpCollector } from './otlp-collector.ts';
import { outcomeOf, type ProgramHost, startProgram } from './programs.ts';
import { everyOther } from './size.ts';

const PROGRAMS = ['v1.mjs', 'v1.cjs', 'v2.mjs', 'v2.cjs'] as const;

/** Declares the matrix as tests; `host` is asked when they run. */
export function describeMcpMatrix(host: () => ProgramHost): void {
  for (const [place, client] of PROGRAMS.entries()) {
    // Every client and every server over both, each pair over one.
    for (const server of everyOther(PROGRAMS, place))
      test(`stdio: ${client} calls ${server}`, () => overStdio(host(), client, server));
    for (const server of everyOther(PROGRAMS, place + 1))
      test(`Streamable HTTP: ${client} calls ${server}`, () => overHttp(host(), client, server));
    test(`in memory: ${client}`, () => inMemory(host(), client));
  }
  for (const [client, server] of [
    ['v2.mjs', 'v2.cjs'],
    ['v2.cjs', 'v2.mjs'],
  ] as const) {
    test(`2026-07-28 over stdio: ${client} calls ${server}`, () => modernOverStdio(host(), client, server));
    test(`2026-07-28 over HTTP: ${client} calls ${server}`, () => modernOverHttp(host(), client, server));
  }
}

async function overStdio(host: ProgramHost, client: string, server: string): Promise<void> {
  await using collector = await OtlpCollector.start();
  await finish(start(host, collector, 'client', stdioArguments(host, client, server)));
  await collector.until(arrived);
  assertOneTrace(collector.spans, 'client', 'server');
  for (const { attributes } of collector.spans) {
    if (attributes['mcp.method.name'] !== undefined) assert.equal(attributes['network.transport'], 'pipe');
  }
}

function stdioArguments({ programs }: ProgramHost, client: string, server: string): string[] {
  return [client, 'client', 'stdio', join(programs, server), 'server', 'stdio'];
}

async function overHttp(host: ProgramHost, client: string, server: string): Promise<void> {
  await using collector = await OtlpCollector.start();
  const url = await betweenProcesses(host, collector, client, server, {});
  await collector.until(arrived);
  assertOneTrace(collector.spans, 'client', 'server');
  const session = collector.spans.find((span) => span.name === 'tools/list')?.attributes['mcp.session.id'];
  assert.equal(typeof session, 'string');
  for (const span of collector.spans) {
    const { attributes } = span;
    if (attributes['mcp.method.name'] === undefined) continue;
    assert.equal(attributes['network.transport'], 'tcp');
    assert.equal(attributes['network.protocol.name'], 'http');
    if (span.name !== 'initialize') assert.equal(attributes['mcp.session.id'], session, span.name);
    if (span.service === 'client' && span.kind === 'CLIENT') {
      assert.equal(attributes['server.address'], '127.0.0.1');
      assert.equal(attributes['server.port'], Number(url.port));
    }
    if (server.startsWith('v1') && span.service === 'server' && span.kind === 'SERVER') {
      assert.equal(attributes['client.address'], '127.0.0.1');
      assert.equal(attributes['network.protocol.version'], '1.1');
    }
  }
}

async function inMemory(host: ProgramHost, program: string): Promise<void> {
  await using collector = await OtlpCollector.start();
  await finish(start(host, collector, 'both', [program, 'client', 'memory']));
  await collector.until(arrived);
  assertOneTrace(collector.spans, 'both', 'both');
}

const MODERN = { MCP_ERA: 'modern' };

async function modernOverStdio(host: ProgramHost, client: string, server: string): Promise<void> {
  await using collector = await OtlpCollector.start();
  await finish(start(host, collector, 'client', stdioArguments(host, client, server), MODERN));
  await collector.until(modernArrived);
  assertModernTrace(collector.spans, 'stdio');
}

async function modernOverHttp(host: ProgramHost, client: string, server: string): Promise<void> {
  await using collector = await OtlpCollector.start();
  await betweenProcesses(host, collector, client, server, MODERN);
  await collector.until(modernArrived);
  assertModernTrace(collector.spans, 'http');
}

/** Runs the client to its end against a server that listens, and stops the server. */
async function betweenProcesses(
  host: ProgramHost,
  collector: OtlpCollector,
  client: string,
  server: string,
  env: Record<string, string>,
): Promise<URL> {
  const listening = start(host, collector, 'server', [server, 'server', 'http'], env);
  try {
    const lines = createInterface({ input: listening.stdout });
    const [url] = (await once(lines, 'line')) as [string];
    const args = [client, 'client', 'http', url];
    await finish(start(host, collector, 'client', args, env));
    return new URL(url);
  } finally {
    listening.kill();
  }
}

function start(
  host: ProgramHost,
  collector: OtlpCollector,
  service: string,
  args: readonly string[],
  env: Record<string, string> = {},
): ChildProcessWithoutNullStreams {
  return startProgram(host, args, {
    OTEL_SERVICE_NAME: service,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_METRICS_EXPORTER: 'none',
    ...env,
  });
}

/** Waits for a client program: it must end well, with nothing on stdout and no fault told on stderr. */
async function finish(child: ChildProcessWithoutNullStreams): Promise<void> {
  const { code, stdout, stderr } = await outcomeOf(child);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, '');
  assert.doesNotMatch(stderr, /fault in/);
}
