/** What tells the processes of calls apart. */
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { semconv } from '../base/index.ts';
import type { InteractionKind } from '../interaction/index.ts';

/** Names the calls of one kind of one process, as far as its spans tell it from others. */
export function processKey(kind: InteractionKind, { resource }: ReadableSpan): string {
  const { model, embeddings } = findProcess(resource);
  return kind === 'model' ? model : embeddings;
}

const PROCESS = [
  semconv.ATTR_SERVICE_NAME,
  semconv.ATTR_SERVICE_INSTANCE_ID,
  'host.name',
  'process.pid',
] as const;

/** A process, as the kinds of its calls are kept in mind by. */
interface ProcessKeys {
  readonly model: string;
  readonly embeddings: string;
}

const processes = new WeakMap<object, ProcessKeys>();
/** Resources whose attributes were being detected when they were first seen. */
let detecting = 0;
const UNKNOWN: ProcessKeys = { model: 'model ', embeddings: 'embeddings ' };

/** What tells processes apart, as far as they say it. */
function findProcess(resource: ReadableSpan['resource'] | undefined): ProcessKeys {
  if (resource === undefined) return UNKNOWN;
  let keys = processes.get(resource);
  if (keys === undefined) {
    // An SDK logs an error where attributes are read that are still being detected. That SDK is in this process.
    const isPending = resource.asyncAttributesPending === true;
    if (isPending) detecting += 1;
    const text = isPending
      ? `resource ${detecting}`
      : PROCESS.map((name) => String(resource.attributes[name] ?? '')).join(' ');
    keys = { model: `model ${text}`, embeddings: `embeddings ${text}` };
    processes.set(resource, keys);
  }
  return keys;
}
