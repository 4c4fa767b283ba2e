import type { Span } from '@opentelemetry/api';
import type { Interaction } from './types.ts';

/**
 * What travels to the processor beside a span. It hangs on `globalThis` under a registered symbol, so that an
 * instrumentation and a processor from two installed copies of this package still meet.
 */
interface SpanNotes {
  readonly interactions: WeakMap<object, Interaction>;
  /** Whether anyone reads interactions: until then none are kept. */
  isRead: boolean;
}

const KEY = Symbol.for('mcp-observatory.span-notes.v1');

/**
 * Set to true on a span that has its signals. A property, for it says nothing of the call and outlives it with the span:
 * a WeakSet of every span that ever ended makes each garbage collection slower, and an enrichment by a sixth.
 */
const ENRICHED: unique symbol = Symbol.for('mcp-observatory.enriched') as never;

interface MarkedSpan {
  [ENRICHED]?: boolean;
}

function spanNotes(): SpanNotes {
  const holder = globalThis as { [KEY]?: SpanNotes };
  holder[KEY] ??= { interactions: new WeakMap(), isRead: false };
  return holder[KEY];
}

/**
 * Hands text, tool arguments or usage of a call to the processor without making them attributes of the span.
 * Parts given later complete and replace those given before; a field that is `undefined` replaces nothing.
 * The span keeps them no longer than it lives. A span that is not recording keeps none, nor does any span before
 * {@link readInteractions} is called: where nothing enriches spans, calls do not pay for it.
 */
export function attachInteraction(span: Span, part: Interaction): void {
  if (!wantsInteraction(span)) return;
  const { interactions } = spanNotes();
  const before = interactions.get(span);
  interactions.set(span, before === undefined ? part : mergeInteractions(before, part));
}

/** Whether anything attached to a span would be kept: asked by those for whom putting it together is work. */
export function wantsInteraction(span: Span): boolean {
  return spanNotes().isRead && span.isRecording();
}

/** Says that what is attached from now on will be taken; a processor does so when it is made. */
export function readInteractions(): void {
  spanNotes().isRead = true;
}

/** Returns what was attached to a span and forgets it. */
export function takeInteraction(span: object): Interaction | undefined {
  const { interactions } = spanNotes();
  const interaction = interactions.get(span);
  if (interaction !== undefined) interactions.delete(span);
  return interaction;
}

/** Whether anything was attached to a span and not yet taken. */
export function hasInteraction(span: object): boolean {
  return spanNotes().interactions.has(span);
}

/**
 * Says that a span carries its signals already, so that no processor computes them again. For code that enriches
 * spans by itself; text of other instrumentations on the span is still redacted where the processor is told to.
 */
export function markEnriched(span: object): void {
  // A frozen span is left unmarked: it is then enriched again, which changes nothing.
  Reflect.set(span, ENRICHED, true);
}

/** Whether {@link markEnriched} was called for a span. */
export function isEnriched(span: object): boolean {
  return (span as MarkedSpan)[ENRICHED] === true;
}

/** The fields of both, those of `over` first; usage is merged count by count. */
export function mergeInteractions(under: Interaction, over: Interaction): Interaction {
  const merged = mergeDefined(under, over);
  return under.usage && over.usage ? { ...merged, usage: mergeDefined(under.usage, over.usage) } : merged;
}

function mergeDefined<T extends object>(under: T, over: T): T {
  const merged = { ...under };
  for (const key of Object.keys(over) as (keyof T)[]) {
    if (over[key] !== undefined) merged[key] = over[key];
  }
  return merged;
}
