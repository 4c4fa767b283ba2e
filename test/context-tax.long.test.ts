import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readOfferedTools } from '../src/interaction/index.ts';
import { ContextTax } from '../src/processor/context-tax.ts';
import { definitionText, estimateTokens } from '../src/signals/index.ts';
import { needsData, readRows } from './support/data.ts';
import { assertFree } from './support/loop-hold.ts';
import type { Json } from './support/recordings.ts';

const PRICE = { model: 'gpt-4o', provider: 'openai', at: new Date('2026-11-01') };

const call = (tools: unknown) => ({
  tools,
  provider: 'openai',
  model: 'gpt-4o',
  usage: { inputTokens: 200_000 },
});

describe('real definitions', needsData('mcp_tools.jsonl'), () => {
  test('a list of 300 is reported in parts that add up, without holding the event loop', async () => {
    const rows = readRows<{ server: string; tool: Json }>('mcp_tools.jsonl');
    const listed = rows.map(({ tool }, i) => ({ ...tool, name: `${tool.name}_${i}` }));
    const tools = [
      ...listed,
      ...listed.slice(0, 300 - listed.length).map((tool) => ({ ...tool, name: `b_${tool.name}` })),
    ];
    assert.equal(tools.length, 300);
    const tax = new ContextTax();
    await assertFree('counting 300 definitions', async () => {
      tax.prepare(structuredClone(tools), 'gpt-4o');
      await tax.settled();
    });
    const first = tax.fieldsOf(call(tools), PRICE);
    const more = [1, 2, 3].map(() => tax.fieldsOf(call(tools), PRICE));
    const parts = [first, ...more].flatMap(({ offered_tools_list: list }) => list ?? []);
    const read = parts.map(
      (part) => JSON.parse(part) as { total: number; tools: Record<string, Record<string, number>> },
    );
    const named = read.flatMap(({ tools }) => Object.values(tools).flatMap((all) => Object.entries(all)));
    assert.equal(new Set(named.map(([name]) => name)).size, 300);
    for (const part of parts) assert.ok(part.length <= 8_192);
    const total = read[0]?.total ?? 0;
    const sum = named.reduce((all, [, tokens]) => all + tokens, 0);
    assert.ok(sum <= total && sum > 0.95 * total, `${sum} of ${total}`);
    // By hand: the tokens of the text of all of them.
    const text = readOfferedTools(tools).map(
      ({ definition }) => definition && definitionText(definition, 'typescript'),
    );
    const whole = text.reduce((all, one) => all + estimateTokens(one ?? '', 'gpt-4o'), 0);
    assert.ok(Math.abs((first.offered_tools_tokens ?? 0) - whole) <= 0.01 * whole);
  });
});
