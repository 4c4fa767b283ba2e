/** The golden file format: requests and events as changes to earlier ones. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { applied, deltaBetween } from '../src/golden/file/delta.ts';
import { expandExchanges, packExchanges } from '../src/golden/file/pack.ts';
import { formatGolden, type Golden, parseGolden, readGolden } from '../src/golden/index.ts';
import { random } from './support/random.ts';
import { sized } from './support/size.ts';

const GOLDENS = fileURLToPath(new URL('../../goldens', import.meta.url));

/** A JSON value; small enough that two of them are often alike in parts. */
function anyValue(pick: (below: number) => number, depth = 0): unknown {
  const kind = pick(depth > 3 ? 4 : 7);
  if (kind < 4) return [null, pick(3), 'text', '__proto__'][kind];
  const items = Array.from({ length: pick(4) }, () => anyValue(pick, depth + 1));
  if (kind === 4) return items;
  const names = ['a', 'b', 'c', pick(9) === 0 ? 'a.b[0]' : 'd', '__proto__', ''];
  return JSON.parse(`{${items.map((item) => `"${names[pick(6)]}":${JSON.stringify(item)}`).join()}}`);
}

test('a value is found again from its changes of another one, and the other one stays as it is', () => {
  const pick = random(7);
  let changed = 0;
  for (let round = 0; round < 5000; round += 1) {
    const base = anyValue(pick);
    const value = anyValue(pick);
    const before = JSON.stringify(base);
    const delta = deltaBetween(base, value);
    if (delta === undefined) continue;
    changed += 1;
    assert.deepEqual(applied(base, JSON.parse(JSON.stringify(delta))), value);
    assert.equal(JSON.stringify(base), before);
  }
  assert.ok(changed > 500, `${changed} had something in common`);
});

test('every golden of the library is written as it is read, at less than two thirds of its size without packing', async () => {
  let packed = 0;
  let whole = 0;
  const names = readdirSync(GOLDENS, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.json') && !name.endsWith('tool_schema_definitions.json'));
  for (const name of names.filter((_, at) => at % sized(3, 1) === 0)) {
    const text = readFileSync(join(GOLDENS, name), 'utf8');
    // Reading fails when what is expanded is not what the checksum was made of.
    const golden = await readGolden(join(GOLDENS, name));
    assert.equal(formatGolden(golden), text, name);
    packed += text.length;
    whole += JSON.stringify(golden, null, 2).length;
  }
  assert.ok(packed < (whole * 2) / 3, `${packed} of ${whole} characters`);
});

test('what a stream says is kept to the order of its members, a broken event and a nameless one included', () => {
  const stream = (...events: Golden['provider_responses'][number]['response']['events'] & object) => ({
    iteration: 1,
    request: { method: 'POST', path: '/v1/messages', headers: {}, body: { a: 1 } },
    response: { status: 200, headers: {}, events, line_end: '\r\n' },
    token_usage: null,
    duration_ms: 0,
  });
  const head = { id: 'x'.repeat(80), choices: [{ delta: {} }] };
  const exchanges = [
    stream(
      { event: 'start', data: head },
      { data: head },
      { raw: ': ping' },
      { data: { ...head, usage: 1 } },
    ),
    stream(
      { event: 'start', data: { ...head, id: 'y' } },
      { data: { choices: [], id: head.id } },
      { raw: 'data: {"' },
    ),
  ];
  const packed = packExchanges(exchanges);
  assert.deepEqual(packed[1]?.response.events?.[0], { event: 'start', changes: { id: 'y' } });
  assert.deepEqual(packed[1]?.request, { from: 0, changes: {} });
  assert.equal(JSON.stringify(expandExchanges(packed)), JSON.stringify(exchanges));
});

test('changes of what is not there, and changes that expand without end, are refused', async () => {
  const golden = await readGolden(join(GOLDENS, 'openai/invoice_review.json'));
  const [first] = golden.provider_responses;
  const refused = (exchange: object, message: RegExp, more: readonly object[] = []) =>
    assert.throws(
      () => parseGolden(JSON.stringify({ ...golden, provider_responses: [first, exchange, ...more] }), 'x'),
      {
        code: 'GOLDEN_UNREADABLE',
        message,
      },
    );
  const request = (fields: object) => ({ ...first, request: fields });
  refused(request({ from: 1, changes: {} }), /no exchange 1 before it/);
  refused(request({ from: -1, changes: {} }), /is not a golden/);
  refused(request({ from: 0 }), /is not a golden/);
  refused(request({ from: 0, changes: {}, body: {} }), /is not a golden/);
  for (const place of ['', 'messages[99]', 'none.of.it', 'messages.length', 'messages[0]x', 'model.a']) {
    refused(request({ from: 0, changes: { [place]: 1 } }), /cannot be expanded: there is no/);
  }
  refused(request({ from: 0, changes: {}, removed: ['none'] }), /there is no none/);
  refused(request({ from: 0, changes: {}, removed: ['messages[0]'] }), /there is no messages\[0\]/);
  const events = (...list: object[]) => ({ ...first, response: { status: 200, headers: {}, events: list } });
  refused(events({ event: 'unheard of', changes: {} }), /no event unheard of before it/);
  refused(events({ data: 1, changes: {} }), /is not a golden/);
  const large = events(
    { data: 'x'.repeat(1_000_000) },
    ...Array.from({ length: 100 }, () => ({ changes: {} })),
  );
  refused(large, /expand to more than/);
  const polluted = parseGolden(
    JSON.stringify({
      ...golden,
      provider_responses: [first, request({ from: 0, changes: JSON.parse('{"__proto__":{"admin":true}}') })],
    }),
    'x',
  );
  const body = polluted.provider_responses[1]?.request.body as { admin?: boolean };
  assert.equal(body.admin, undefined);
  assert.ok(Object.hasOwn(body, '__proto__'));
});
