import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { CollectingExporter, end, processorOf, unreachable } from './support/collecting-exporter.ts';
import { idsOf, manySpans } from './support/many-spans.ts';
import { longTest, sized } from './support/size.ts';
import { spanWith } from './support/spans.ts';
import { waitUntil } from './support/wait-until.ts';

const root = mkdtempSync(join(tmpdir(), 'observatory-refused-'));
let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(root, 'spool-'));
});
after(() => rmSync(root, { recursive: true }));

const withSpool = () => ({ spool: { directory, drainSpansPerSecond: 1_000_000 } });

describe('spans that the back end refuses', () => {
  const isPoison = (span: ReadableSpan) => span.attributes.poison === true;
  const poison = () => spanWith({ poison: true });
  /** Fails a batch for one span in it and does not say so. */
  const refusing = () =>
    new CollectingExporter((spans) => (spans.some(isPoison) ? new Error('some row is bad') : undefined));

  const inMemory = ['in memory', () => ({})] as const;
  const spooled = ['with a spool', withSpool] as const;
  for (const [name, options] of sized([spooled], [inMemory, spooled])) {
    test(`stand alone in the end, and all others are stored once (${name})`, async () => {
      const exporter = refusing();
      const processor = processorOf(exporter, options());
      const good = manySpans(2000);
      const bad = [poison(), poison(), poison(), poison()];
      end(processor, [bad[0] as ReadableSpan, ...good.slice(0, 700), bad[1] as ReadableSpan]);
      end(processor, [...good.slice(700), ...bad.slice(2)]);
      await waitUntil(() => processor.stats.refused === 4);
      await processor.shutdown();
      assert.deepEqual(idsOf(exporter.spans), idsOf(good));
      assert.equal(processor.stats.dropped, 0);
      if (name !== 'with a spool') return;
      const lines = readFileSync(join(directory, 'refused.jsonl'), 'utf8').trim().split('\n');
      const kept = lines.map((line) => JSON.parse(line) as { span_id: string; error: string });
      assert.deepEqual(kept.map((line) => line.span_id).sort(), idsOf(bad));
      assert.equal(kept[0]?.error, 'some row is bad');
    });
  }

  longTest('one alone at the head of the disk does not hold up those behind it', async () => {
    let isDown = true;
    const exporter = new CollectingExporter((spans) => {
      if (isDown) return unreachable();
      return spans.some(isPoison) ? new Error('bad') : undefined;
    });
    const processor = processorOf(exporter, withSpool());
    end(processor, [poison()]);
    await processor.forceFlush();
    end(processor, manySpans(10));
    await processor.forceFlush();
    isDown = false;
    await waitUntil(() => exporter.spans.length === 10 && processor.stats.refused === 1, 15_000);
    await processor.shutdown();
  });

  test('a back end that fails for everything refuses nothing: all is kept', async () => {
    let isBroken = true;
    const exporter = new CollectingExporter(() => (isBroken ? new Error('disk full') : undefined));
    const processor = processorOf(exporter, withSpool());
    const spans = manySpans(300);
    end(processor, spans);
    await processor.forceFlush();
    await sleep(sized(200, 1500));
    assert.equal(processor.stats.refused, 0);
    isBroken = false;
    await waitUntil(() => exporter.spans.length === 300, 15_000);
    assert.deepEqual(idsOf(exporter.spans), idsOf(spans));
    await processor.shutdown();
  });
});
