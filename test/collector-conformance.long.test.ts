import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as zlib from 'node:zlib';
import { type Collector, startCollector } from '../src/collector/index.ts';
import { type GrpcAnswer, GrpcCaller, TRACE_EXPORT } from './support/grpc-caller.ts';
import { post } from './support/http-post.ts';
import { decodeMessage, encodeNestedLists, encodeProtobuf, encodeWideList } from './support/otlp-encode.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';

const PROTOBUF = { 'content-type': 'application/x-protobuf' };
const JSON_TYPE = { 'content-type': 'application/json' };
const GZIP = { 'content-encoding': 'gzip' };
const MAX_BODY = 1024 * 1024;
const MAX_SPANS = 500;

let ids = 0;

/** A span of its own, with what is given. */
function span(parts: object = {}): Record<string, unknown> {
  ids += 1;
  const spanId = ids.toString(16).padStart(16, '0');
  return { traceId: '0af7651916cd43dd8448eb211c80319c', spanId, name: 'conformance', ...NOW, ...parts };
}
const NOW = { startTimeUnixNano: '1763700000000000000', endTimeUnixNano: '1763700001000000000' };

function requestOf(...spans: readonly object[]): { resourceSpans: readonly unknown[] } {
  return { resourceSpans: [{ scopeSpans: [{ spans }] }] };
}
const proto = (...spans: readonly object[]) => encodeProtobuf(requestOf(...spans));
const json = (...spans: readonly object[]) => Buffer.from(JSON.stringify(requestOf(...spans)));

/** A request and the answer it gets. */
interface Case {
  readonly name: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: () => Buffer;
  readonly status: number;
  /** Spans not stored, of an answer that says so. */
  readonly rejected?: number;
  /** Rows that it adds. */
  readonly rows?: number;
}

const KINDS_OF_VALUES = [
  { stringValue: 'text' },
  { boolValue: true },
  { intValue: '9223372036854775807' },
  { doubleValue: 0.5 },
  { bytesValue: 'AAEC' },
  { arrayValue: { values: [{ intValue: '1' }, {}, { stringValue: 'x' }] } },
  { kvlistValue: { values: [{ key: 'a', value: { kvlistValue: { values: [{ key: 'b', value: {} }] } } }] } },
  {},
].map((value, i) => ({ key: `kind.${i}`, value }));

const { gzipSync } = zlib;
/** Other encodings than gzip; the newer Node versions have zstd. */
const { zstdCompressSync } = zlib as { zstdCompressSync?: (body: Buffer) => Buffer };
const PACKED: readonly { encoding: string; pack: (body: Buffer) => Buffer }[] = [
  { encoding: 'x-gzip', pack: (body) => gzipSync(body) },
  { encoding: 'deflate', pack: (body) => zlib.deflateSync(body) },
  ...(zstdCompressSync === undefined ? [] : [{ encoding: 'zstd', pack: zstdCompressSync }]),
];
const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024));
const WITHOUT_IDS = [
  { traceId: '' },
  { spanId: '' },
  { traceId: '0'.repeat(32) },
  { spanId: '0'.repeat(16) },
  { traceId: 'abcd' },
  { spanId: 'ff'.repeat(16) },
];

const CASES: readonly Case[] = [
  { name: 'one span in protobuf', headers: PROTOBUF, body: () => proto(span()), status: 200, rows: 1 },
  { name: 'one span in JSON', headers: JSON_TYPE, body: () => json(span()), status: 200, rows: 1 },
  {
    name: 'JSON with a charset',
    headers: { 'content-type': 'Application/JSON; charset=utf-8' },
    body: () => json(span()),
    status: 200,
    rows: 1,
  },
  {
    name: 'protobuf in gzip',
    headers: { ...PROTOBUF, ...GZIP },
    body: () => gzipSync(proto(span())),
    status: 200,
    rows: 1,
  },
  {
    name: 'JSON in gzip',
    headers: { ...JSON_TYPE, ...GZIP },
    body: () => gzipSync(json(span())),
    status: 200,
    rows: 1,
  },
  ...PACKED.flatMap(({ encoding, pack }) => [
    {
      name: `protobuf in ${encoding}`,
      headers: { ...PROTOBUF, 'content-encoding': encoding },
      body: () => pack(proto(span())),
      status: 200,
      rows: 1,
    },
    {
      name: `64 MB that ${encoding} makes small`,
      headers: { ...PROTOBUF, 'content-encoding': encoding },
      body: () => pack(Buffer.alloc(64 * 1024 * 1024)),
      status: 413,
    },
    {
      name: `${encoding} that is cut off`,
      headers: { ...PROTOBUF, 'content-encoding': encoding },
      body: () => pack(proto(span())).subarray(0, -9),
      status: 400,
    },
  ]),
  {
    name: 'encoding identity',
    headers: { ...PROTOBUF, 'content-encoding': 'identity' },
    body: () => proto(span()),
    status: 200,
    rows: 1,
  },
  { name: 'nothing in protobuf', headers: PROTOBUF, body: () => Buffer.alloc(0), status: 200, rows: 0 },
  {
    name: 'nothing in gzip',
    headers: { ...PROTOBUF, ...GZIP },
    body: () => gzipSync(''),
    status: 200,
    rows: 0,
  },
  { name: 'an empty object', headers: JSON_TYPE, body: () => Buffer.from('{}'), status: 200, rows: 0 },
  {
    name: 'a resource without spans',
    headers: PROTOBUF,
    body: () => encodeProtobuf({ resourceSpans: [{}] }),
    status: 200,
    rows: 0,
  },
  { name: 'no JSON at all', headers: JSON_TYPE, body: () => Buffer.alloc(0), status: 400 },
  { name: 'JSON that is cut off', headers: JSON_TYPE, body: () => json(span()).subarray(0, -5), status: 400 },
  {
    name: 'protobuf that is cut off',
    headers: PROTOBUF,
    body: () => proto(span()).subarray(0, -3),
    status: 400,
  },
  { name: 'JSON said to be protobuf', headers: PROTOBUF, body: () => json(span()), status: 400 },
  { name: 'protobuf said to be JSON', headers: JSON_TYPE, body: () => proto(span()), status: 400 },
  { name: 'gzip that is none', headers: { ...PROTOBUF, ...GZIP }, body: () => proto(span()), status: 400 },
  {
    name: 'gzip that is cut off',
    headers: { ...PROTOBUF, ...GZIP },
    body: () => gzipSync(proto(span())).subarray(0, -9),
    status: 400,
  },
  {
    name: 'gzip that is damaged',
    headers: { ...PROTOBUF, ...GZIP },
    body: () => damaged(gzipSync(proto(span()))),
    status: 400,
  },
  {
    name: 'unknown fields',
    headers: JSON_TYPE,
    body: () => json(span({ brandNew: [{ a: 1 }] })),
    status: 200,
    rows: 1,
  },
  {
    name: 'unknown fields in protobuf',
    headers: PROTOBUF,
    body: () => Buffer.concat([proto(span()), Buffer.from('a2060161', 'hex')]),
    status: 200,
    rows: 1,
  },
  { name: 'another type', headers: { 'content-type': 'text/plain' }, body: () => json(span()), status: 415 },
  { name: 'no type', body: () => json(span()), status: 415 },
  {
    name: 'another encoding',
    headers: { ...PROTOBUF, 'content-encoding': 'br' },
    body: () => proto(span()),
    status: 415,
  },
  { name: 'GET', method: 'GET', headers: PROTOBUF, status: 405 },
  { name: 'PUT', method: 'PUT', headers: PROTOBUF, body: () => proto(span()), status: 405 },
  {
    name: 'profiles',
    path: '/v1development/profiles',
    headers: PROTOBUF,
    body: () => Buffer.alloc(0),
    status: 404,
  },
  {
    name: 'a path above',
    path: '/v1/traces/../../etc/passwd',
    headers: PROTOBUF,
    body: () => proto(span()),
    status: 404,
  },
  { name: '64 MB', headers: PROTOBUF, body: () => Buffer.alloc(64 * 1024 * 1024), status: 413 },
  { name: '64 MB that gzip makes small', headers: { ...PROTOBUF, ...GZIP }, body: () => BOMB, status: 413 },
  { name: 'one byte too much', headers: PROTOBUF, body: () => Buffer.alloc(MAX_BODY + 1), status: 413 },
  {
    name: 'too many spans',
    headers: PROTOBUF,
    body: () => proto(...Array.from({ length: MAX_SPANS + 1 }, () => span())),
    status: 413,
  },
  {
    name: 'as many spans as may be',
    headers: PROTOBUF,
    body: () => proto(...Array.from({ length: MAX_SPANS }, () => span())),
    status: 200,
    rows: MAX_SPANS,
  },
  {
    name: 'small messages that ask for much',
    headers: { ...PROTOBUF, ...GZIP },
    body: () => gzipSync(encodeWideList(500_000)),
    status: 200,
    rows: 1,
  },
  {
    name: 'invalid ids in protobuf',
    headers: PROTOBUF,
    body: () => proto(...WITHOUT_IDS.map(span), span()),
    status: 200,
    rejected: 6,
    rows: 1,
  },
  {
    name: 'invalid ids in JSON',
    headers: JSON_TYPE,
    body: () => json(...WITHOUT_IDS.map(span), span({ spanId: 'not hex at all!!' }), span()),
    status: 200,
    rejected: 7,
    rows: 1,
  },
  {
    name: 'ids in base64',
    headers: JSON_TYPE,
    body: () => json(span({ spanId: Buffer.alloc(8, 1).toString('base64') })),
    status: 200,
    rejected: 1,
    rows: 0,
  },
  {
    name: 'the same span twice',
    headers: PROTOBUF,
    body: () => {
      const one = span();
      return proto(one, one);
    },
    status: 200,
    rows: 1,
  },
  {
    name: 'values of every kind in protobuf',
    headers: PROTOBUF,
    body: () => proto(span({ attributes: KINDS_OF_VALUES })),
    status: 200,
    rows: 1,
  },
  {
    name: 'values of every kind in JSON',
    headers: JSON_TYPE,
    body: () => json(span({ attributes: KINDS_OF_VALUES })),
    status: 200,
    rows: 1,
  },
  {
    name: 'values nested 150 levels deep',
    headers: PROTOBUF,
    body: () => encodeNestedLists(150),
    status: 200,
    rows: 0,
  },
  {
    name: 'JSON nested without end',
    headers: JSON_TYPE,
    body: () => Buffer.from('['.repeat(MAX_BODY)),
    status: 400,
  },
  {
    name: 'text that Postgres refuses',
    headers: PROTOBUF,
    body: () => proto(span({ name: 'a\0b' })),
    status: 200,
    rows: 1,
  },
  {
    name: 'times beyond every calendar',
    headers: JSON_TYPE,
    body: () => json(span({ startTimeUnixNano: '18446744073709551615', endTimeUnixNano: '0' })),
    status: 200,
    rows: 1,
  },
];

function damaged(body: Buffer): Buffer {
  const changed = Buffer.from(body);
  changed[20] = (changed[20] ?? 0) ^ 0xff;
  changed[changed.length - 6] = (changed[changed.length - 6] ?? 0) ^ 0xff;
  return changed;
}

describe('OTLP conformance', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let url: string;
  let collector: Collector;
  let caller: GrpcCaller;

  before(async () => {
    server = await startPostgres();
    url = await server.createMigrated();
    const anywhere = { host: '127.0.0.1', port: 0 };
    const limits = { maxBodyBytes: MAX_BODY, maxSpans: MAX_SPANS };
    collector = await startCollector({ databaseUrl: url, http: anywhere, grpc: anywhere, ...limits });
    caller = new GrpcCaller(collector.grpcAddress ?? '');
  });
  after(async () => {
    caller.close();
    await collector.close();
    await server.stop();
  });

  const countRows = async () => {
    const [row] = await runSql(url, 'SELECT count(*)::integer AS rows FROM mcp_traces');
    return Number(row?.rows);
  };

  for (const {
    name,
    method = 'POST',
    path = '/v1/traces',
    headers = {},
    body,
    status,
    rejected = 0,
    rows,
  } of CASES) {
    test(`HTTP answers ${status} to ${name}`, async () => {
      const before = await countRows();
      const answer = await post(`${collector.httpUrl}${path}`, headers, body?.(), method);
      assert.equal(answer.status, status, answer.body.toString());
      assert.equal((await countRows()) - before, rows ?? 0);
      const type = headers['content-type']?.toLowerCase().split(';')[0];
      if (status !== 415 || headers['content-encoding'] !== undefined)
        assert.equal(answer.headers['content-type'], type);
      if (status === 405) assert.equal(answer.headers.allow, 'POST');
      if (status === 200)
        assert.deepEqual(partialSuccess(type, answer.body), rejected === 0 ? undefined : rejected);
      else if (type === 'application/json')
        assert.match(String(JSON.parse(answer.body.toString()).message), /\w/);
      else if (type === 'application/x-protobuf')
        assert.match(String(decodeMessage('RpcStatus', answer.body).message), /\w/);
    });
  }

  /** How gRPC answers: its code, and whether the sender may try again. */
  const calls: readonly (readonly [string, number, () => Promise<GrpcAnswer>])[] = [
    ['one span', 0, () => caller.call(proto(span()))],
    ['one span in gzip', 0, () => caller.call(gzipSync(proto(span())), { packed: true })],
    ['nothing', 0, () => caller.call(Buffer.alloc(0))],
    ['invalid ids', 0, () => caller.call(proto(span({ traceId: '' }), span()))],
    ['protobuf that is cut off', 3, () => caller.call(proto(span()).subarray(0, -3))],
    ['gzip that is none', 3, () => caller.call(proto(span()), { packed: true })],
    [
      'a packed message without a name of the packing',
      3,
      () => caller.call(gzipSync(proto(span())), { packed: true, encoding: 'identity' }),
    ],
    ['a message shorter than it says', 3, () => caller.callRaw(Buffer.from([0, 0, 0, 0, 9, 1]))],
    ['two messages', 3, () => caller.callRaw(Buffer.alloc(10))],
    ['64 MB', 8, () => caller.call(Buffer.alloc(64 * 1024 * 1024))],
    ['64 MB that gzip makes small', 8, () => caller.call(BOMB, { packed: true })],
    ['another packing', 12, () => caller.call(proto(span()), { encoding: 'snappy' })],
    [
      'another method',
      12,
      () =>
        caller.call(Buffer.alloc(0), {
          path: TRACE_EXPORT.replace('trace.v1.Trace', 'profiles.v1.Profiles'),
        }),
    ],
  ];
  for (const [name, code, call] of calls) {
    test(`gRPC answers ${code} to ${name}`, async () => {
      const answer = await call();
      assert.equal(answer.code, code, answer.message);
      if (code !== 0) assert.notEqual(answer.message, '');
      assert.equal(answer.retryAfter, undefined);
      if (name === 'invalid ids') assert.equal(partialSuccess('application/x-protobuf', answer.body), 1);
    });
  }

  test('gRPC answers 415 to what is no gRPC', async () => {
    assert.equal((await caller.call(Buffer.alloc(0), { type: 'application/json' })).httpStatus, 415);
  });

  test('serves on after all of that', async () => {
    assert.equal((await caller.call(proto(span()))).code, 0);
    assert.equal((await fetch(`${collector.httpUrl}/readyz`)).status, 200);
    assert.equal((await fetch(`${collector.httpUrl}/healthz`)).status, 200);
  });
});

/** The number of rejected spans that an answer names; `undefined` when it names none. */
function partialSuccess(type: string | undefined, body: Buffer): number | undefined {
  const answer =
    type === 'application/json'
      ? JSON.parse(body.toString())
      : decodeMessage('ExportTraceServiceResponse', body);
  const partial = (answer as { partialSuccess?: { rejectedSpans: unknown; errorMessage: string } })
    .partialSuccess;
  if (partial === undefined) return undefined;
  assert.match(partial.errorMessage, /trace id of 16/);
  return Number(partial.rejectedSpans);
}
