/**
 * `write DIR COUNT`: writes that many batches of 10 spans to a `DurableSpanWriter` whose back end is down, and prints the
 * ids of those it answered for. `drain DIR MS`: exports what is on disk for that time, and prints the ids. Warnings go
 * to stderr. `SPOOL_CLOCK_DAYS` moves the clock; `SPOOL_HOLD_FILES_MS` uses up all file descriptors for that time.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { DurableSpanProcessor, DurableSpanWriter } from '../../src/durable/index.ts';
import { CollectingExporter, unreachable } from './collecting-exporter.ts';
import { idsOf, manySpans } from './many-spans.ts';

const [mode, directory = '', amount = '0'] = process.argv.slice(2);
const log = (message: string) => void writeSync(2, `${message}\n`);
diag.setLogger({ error: log, warn: log, info: log, debug: log, verbose: log }, DiagLogLevel.WARN);

const clock = Date.now.bind(Date);
const shift = Number(process.env.SPOOL_CLOCK_DAYS ?? 0) * 24 * 3_600_000;
Date.now = () => clock() + shift;

if (mode === 'write') {
  const writer = new DurableSpanWriter({
    exporter: new CollectingExporter(unreachable),
    spool: { directory, segmentBytes: 20_000, whenFull: 'refuse' },
  });
  await writer.ready();
  for (let i = 0; i < Number(amount); i += 1) {
    const spans = manySpans(10);
    const { kind } = await writer.write(spans);
    if (kind === 'safe') writeSync(1, `${idsOf(spans).join('\n')}\n`);
  }
  await writer.shutdown();
} else {
  const holdMs = Number(process.env.SPOOL_HOLD_FILES_MS ?? 0);
  let exports = 0;
  // At the first export the spool is open and its files are known.
  const exporter = new CollectingExporter(async () => {
    exports += 1;
    if (exports === 1 && holdMs > 0) holdFiles(holdMs);
    return undefined;
  });
  const spool = { directory, drainSpansPerSecond: 1_000_000 };
  const processor = new DurableSpanProcessor({ exporter, spool });
  await sleep(Number(amount));
  await processor.shutdown();
  for (const id of idsOf(exporter.spans)) writeSync(1, `${id}\n`);
}

function holdFiles(ms: number): void {
  const held: number[] = [];
  try {
    for (;;) held.push(openSync('/dev/null', 'r'));
  } catch {
    setTimeout(() => held.forEach(closeSync), ms);
  }
}
