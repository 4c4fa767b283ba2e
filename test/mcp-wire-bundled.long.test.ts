/** A server that no hook can see, for its SDK is bundled: its spans come from its own stdin and stdout. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundle } from './support/bundle.ts';
import { OtlpCollector } from './support/otlp-collector.ts';
import { noPostgres, runSql, startPostgres } from './support/postgres-server.ts';
import { outcomeOf, PATIENT } from './support/programs.ts';
import { tempDir } from './support/temp-dir.ts';

const REGISTER = new URL('../src/setup/register.js', import.meta.url).href;
const INDEX = new URL('../src/index.js', import.meta.url).href;
/** Another copy of this package, such as a bundled one. */
const BUNDLED = join(bundle(), 'index.js');

/** Without the SDK: what a bundled one does at the wire. It keeps the first `write` of stdout, as some servers do. */
const SERVER = `
import { createInterface } from 'node:readline';
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = () => true;
const answers = {
  initialize: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'bundled', version: '2' } },
  'tools/call': { content: [{ type: 'text', text: 'x'.repeat(400000) + 'é' }], isError: true },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) write(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method] }) + '\\n');
}).on('close', () => process.stderr.write('closed\\n'));
process.on('exit', () => process.stderr.write(String(Object.hasOwn(process.stdin, 'push'))));
`;

const FIRST = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'tester', version: '1' } },
};
const CALL = { jsonrpc: '2.0', id: 'é', method: 'tools/call', params: { name: 'long', arguments: {} } };
const lines = (...messages: readonly object[]) => messages.map((one) => `${JSON.stringify(one)}\n`).join('');

/** Runs a program on an input, in pieces that cut characters. */
async function run(
  input: string,
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
  server = SERVER,
) {
  const program = join(tempDir(), 'server.mjs');
  writeFileSync(program, server);
  const child = spawn(process.execPath, [...flags, program], {
    env: { PATH: process.env.PATH ?? '', OTEL_METRICS_EXPORTER: 'none', ...PATIENT, ...env },
  });
  const bytes = Buffer.from(input);
  for (let at = 0; at < bytes.length; at += 7) child.stdin.write(bytes.subarray(at, at + 7));
  child.stdin.end();
  return await outcomeOf(child);
}

test('a bundled server on stdio has its spans, and not a byte of it is changed', async () => {
  await using collector = await OtlpCollector.start();
  const input = lines(FIRST, { jsonrpc: '2.0', method: 'notifications/initialized' }, CALL);
  const bare = await run(input, []);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const watched = await run(input, ['--import', REGISTER], env);
  assert.deepEqual([watched.code, watched.stdout], [bare.code, bare.stdout]);
  assert.equal(bare.stdout.length > 400_000, true);
  assert.deepEqual([bare.stderr, watched.stderr], ['closed\nfalse', 'closed\ntrue']);
  const spans = collector.spans.map(({ name, kind, status, attributes }) => [
    name,
    kind,
    status.code,
    attributes['observatory.mcp.client.name'],
  ]);
  assert.deepEqual(spans.sort(), [
    ['initialize', 'SERVER', 'UNSET', 'tester'],
    ['notifications/initialized', 'SERVER', 'UNSET', 'tester'],
    ['tools/call long', 'SERVER', 'ERROR', 'tester'],
  ]);
  assert.equal(
    collector.spans.find(({ name }) => name === 'tools/call long')?.attributes['observatory.mcp.server.name'],
    'bundled',
  );
});

test('a program that speaks another protocol of JSON-RPC is left as it is after its first line', async () => {
  await using collector = await OtlpCollector.start();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const other = { ...FIRST, params: { protocolVersion: 1 } };
  const { stderr } = await run(lines(other, CALL), ['--import', REGISTER], env);
  assert.equal(stderr, 'closed\nfalse');
  assert.deepEqual(collector.spans, []);
});

/** An SDK that the application sets up itself. */
const SDK = `
import { NodeTracerProvider, SimpleSpanProcessor } from '${import.meta.resolve('@opentelemetry/sdk-trace-node')}';
import { OTLPTraceExporter } from '${import.meta.resolve('@opentelemetry/exporter-trace-otlp-http')}';
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter())] }).register();
`;

const WAYS = [
  ['alone', INDEX, [], ''],
  ['beside an SDK', INDEX, [], SDK],
  ['with the flag', INDEX, ['--import', REGISTER], ''],
  ['with the flag of another copy', BUNDLED, ['--import', REGISTER], ''],
] as const;
for (const [way, index, flags, sdk] of WAYS) {
  test(`startObservatory() in the code of a bundled server, ${way}: each message has one span and one row`, async () => {
    await using collector = await OtlpCollector.start();
    await using postgres = noPostgres() === false ? await startPostgres() : undefined;
    const url = await postgres?.createMigrated();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_EXPORTER: 'otlp',
      ...(url && { MCP_OBSERVATORY_DATABASE_URL: url }),
    };
    const input = lines(FIRST, CALL);
    const server = `${sdk}import { startObservatory } from '${index}';\nawait startObservatory();${SERVER}`;
    const [bare, watched] = [await run(input, []), await run(input, flags, env, server)];
    assert.deepEqual([watched.code, watched.stdout === bare.stdout], [bare.code, true], watched.stderr);
    const names = ['initialize', 'tools/call long'];
    assert.deepEqual(collector.spans.map(({ name }) => name).sort(), names, watched.stderr);
    const rows = url && (await runSql(url, 'SELECT span_name FROM mcp_traces ORDER BY 1'));
    if (rows)
      assert.deepEqual(
        rows.map(({ span_name: name }) => name),
        names,
        watched.stderr,
      );
  });
}
