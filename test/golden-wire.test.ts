import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readGolden } from '../src/golden/index.ts';
import { CASSETTES, hasCassettes, type Recording, recordings, sseEvents } from './support/recordings.ts';

const GOLDENS = fileURLToPath(new URL('../../goldens', import.meta.url));
const skip = hasCassettes ? false : `${CASSETTES} is not there`;

/** Members whose content is the tool's or the user's own. */
const FREE = /\.(?:args|input|partial_json|arguments)$/;

/** Members of the SDKs' types that no recording happens to show. */
const IN_TYPES_ONLY: ReadonlySet<string> = new Set([
  '.choices[].delta.refusal: string',
  '.candidates[].content.parts[].thought: boolean',
]);

/** `usage.prompt_tokens: number`, for every member of a JSON value; list positions do not count. */
function shapeOf(value: unknown, path: string, into: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) shapeOf(item, `${path}[]`, into);
    return;
  }
  into.add(`${path}: ${value === null ? 'null' : typeof value}`);
  if (typeof value !== 'object' || value === null || FREE.test(path)) return;
  for (const [key, member] of Object.entries(value)) shapeOf(member, `${path}.${key}`, into);
}

/** What real answers of an API look like: whole, as events of a stream, and as errors. */
function realShapes(
  api: string,
  rows: readonly Recording[],
): Record<'body' | 'event' | 'error', Set<string>> {
  const shapes = { body: new Set<string>(), event: new Set<string>(), error: new Set<string>() };
  for (const { api: own, response } of rows) {
    if (own !== api) continue;
    const kind = response.status >= 400 ? 'error' : 'body';
    if (response.sse === undefined) shapeOf(response.body, '', shapes[kind]);
    else for (const event of sseEvents(response.sse)) shapeOf(event, '', shapes.event);
  }
  // A streamed answer of Gemini is made of whole answers.
  if (api === 'gemini') for (const line of shapes.body) shapes.event.add(line);
  return shapes;
}

for (const api of ['openai', 'anthropic', 'gemini'] as const) {
  test(`${api}: the answers of the library have no field and no type that real answers lack`, {
    skip,
  }, async () => {
    const real = realShapes(api, recordings([api, 'errors']));
    let compared = 0;
    for (const name of readdirSync(join(GOLDENS, api))) {
      const golden = await readGolden(join(GOLDENS, api, name));
      for (const [index, { response }] of golden.provider_responses.entries()) {
        const kind = response.events !== undefined ? 'event' : response.status >= 400 ? 'error' : 'body';
        const shape = new Set<string>();
        if (response.events === undefined) shapeOf(response.body, '', shape);
        for (const event of response.events ?? []) if ('data' in event) shapeOf(event.data, '', shape);
        const strange = [...shape].filter((line) => !isKnown(line, real[kind]));
        assert.deepEqual(strange, [], `${name}: provider_responses[${index}]`);
        compared += 1;
      }
    }
    assert.ok(compared >= 30);
  });
}

/** A null matches any type: what is absent in one answer may be present in another. */
function isKnown(line: string, real: ReadonlySet<string>): boolean {
  if (real.has(line) || IN_TYPES_ONLY.has(line)) return true;
  const path = line.slice(0, line.lastIndexOf(': ') + 2);
  if (line.endsWith(': null'))
    return ['string', 'number', 'boolean', 'object'].some((type) => real.has(path + type));
  return false;
}
