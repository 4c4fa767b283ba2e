/**
 * Ends spans in an endless loop, and prints the ids of each batch once a flush reports it safe. Arguments: connection
 * string, folder of the spool.
 */
import { writeSync } from 'node:fs';
import { DurableSpanProcessor } from '../../src/durable/index.ts';
import { PostgresSpanExporter } from '../../src/postgres/index.ts';
import { idsOf, manySpans } from './many-spans.ts';

const [connection = '', directory = ''] = process.argv.slice(2);
const processor = new DurableSpanProcessor({
  exporter: new PostgresSpanExporter({ connection }),
  spool: { directory },
});
for (;;) {
  const spans = manySpans(50);
  for (const span of spans) processor.onEnd(span);
  await processor.forceFlush();
  writeSync(1, `${idsOf(spans).join('\n')}\n`);
}
