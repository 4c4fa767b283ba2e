import type { Span } from '@opentelemetry/api';
import { hashableText } from '../json/index.ts';
import type { Interaction } from './types.ts';

/**
 * Who reads the data passed alongside spans. It is kept on `globalThis` under a registered symbol, so that an
 * instrumentation and a processor from two installed copies of this package share it.
 */
interface SpanNotes {
  /** Whether a processor reads interactions; without one none are kept. */
  isRead: boolean;
  /** Receives the tools of a call before it is made, to prepare for its end. */
  prepare?: ((tools: unknown, model: string | undefined) => void) | undefined;
}

const KEY = Symbol.for('mcp-observatory.span-notes.v2');

/**
 * The data of a span, and whether it is enriched. Properties rather than a WeakMap and a WeakSet: with every ended span in
 * them they slow down garbage collection, and each enrichment by a sixth.
 */
const INTERACTION: unique symbol = Symbol.for('mcp-observatory.interaction') as never;
const ENRICHED: unique symbol = Symbol.for('mcp-observatory.enriched') as never;

interface MarkedSpan {
  [INTERACTION]?: Interaction | Unread | undefined;
  [ENRICHED]?: boolean;
}

let notes: SpanNotes | undefined;

/** Once made it is never replaced. */
function spanNotes(): SpanNotes {
  const holder = globalThis as { [KEY]?: SpanNotes };
  notes ??= holder[KEY] ??= { isRead: false };
  return notes;
}

/**
 * Passes text, tool arguments or usage of a call to the processor without making them span attributes. Later fields
 * replace earlier ones; `undefined` replaces nothing. They live as long as the span. Nothing is kept for a span that is
 * not recording, or before {@link readInteractions} is called, so calls cost nothing where no processor enriches spans.
 */
export function attachInteraction(span: Span, part: Interaction): void {
  if (!wantsInteraction(span)) return;
  const before = findInteraction(span);
  note(span, before === undefined ? part : mergeInteractions(before, part));
}

/** Data that is read when somebody asks for it, once. */
class Unread {
  readonly read: () => Interaction;

  constructor(read: () => Interaction) {
    this.read = read;
  }
}

/** As {@link attachInteraction}, for data that takes time to read: `read` is called when the processor wants it. */
export function attachUnread(span: Span, read: () => Interaction): void {
  if (!wantsInteraction(span)) return;
  if (hasInteraction(span)) attachInteraction(span, read());
  else note(span, new Unread(read));
}

function findInteraction(span: object): Interaction | undefined {
  const attached = (span as MarkedSpan)[INTERACTION];
  if (!(attached instanceof Unread)) return attached;
  note(span, undefined);
  const read = attached.read();
  note(span, read);
  return read;
}

/** A frozen span takes none: it is enriched from its attributes. */
function note(span: object, interaction: Interaction | Unread | undefined): void {
  try {
    (span as MarkedSpan)[INTERACTION] = interaction;
  } catch {}
}

/** Whether data attached to a span would be kept; check it before building expensive data. */
export function wantsInteraction(span: Span): boolean {
  return spanNotes().isRead && span.isRecording();
}

/**
 * Declares that attached data will be read. A processor calls this when it is created.
 * @param prepare receives the tools of a call before the call is made.
 */
export function readInteractions(prepare?: SpanNotes['prepare']): void {
  const shared = spanNotes();
  shared.isRead = true;
  shared.prepare = prepare ?? shared.prepare;
}

/** Tells the processor which tools a call is going to offer. Cheap: nothing is read before the call is made. */
export function announceTools(span: Span, tools: unknown, model: string | undefined): void {
  if (tools !== undefined && wantsInteraction(span)) spanNotes().prepare?.(tools, model);
}

/** Returns and removes the data attached to a span. */
export function takeInteraction(span: object): Interaction | undefined {
  const interaction = findInteraction(span);
  if (interaction !== undefined) note(span, undefined);
  return interaction;
}

/** Returns the data attached to a span, which stays there. */
export function attachedTo(span: object): Interaction | undefined {
  return findInteraction(span);
}

/** Whether a span has attached data that was not taken yet. */
export function hasInteraction(span: object): boolean {
  return (span as MarkedSpan)[INTERACTION] !== undefined;
}

/**
 * Replaces the data attached to a span by what it says now: its parts are read, and the application may change its
 * messages and arguments afterwards. The messages themselves, for content capture, are not kept.
 * @returns the characters that are kept.
 */
export function keepInteraction(span: object): number {
  const attached = findInteraction(span);
  if (attached === undefined) return 0;
  const { prompt, answer, retrievedContext, toolArguments, tools } = attached;
  const kept: Interaction = {
    prompt,
    answer,
    retrievedContext,
    secondaryAnswer: attached.secondaryAnswer,
    toolResultSummary: attached.toolResultSummary,
    steps: attached.steps,
    stepsArePartial: attached.stepsArePartial,
    stepContext: attached.stepContext,
    provider: attached.provider,
    model: attached.model,
    usage: attached.usage,
    serverAddress: attached.serverAddress,
    serviceTier: attached.serviceTier,
    providerCostUsd: attached.providerCostUsd,
    tools,
    plainRequest: attached.plainRequest,
    toolArguments,
    toolArgumentsText: toolArguments === undefined ? undefined : textOfArguments(toolArguments),
  };
  note(span, kept);
  return (
    (prompt?.length ?? 0) +
    (answer?.length ?? 0) +
    (retrievedContext?.length ?? 0) +
    (kept.toolArgumentsText?.length ?? 0)
  );
}

/** Keeps what was read or computed of a span ahead of its enrichment. */
export function keepAhead(
  span: object,
  part: Pick<Interaction, 'written' | 'identities' | 'evidence'>,
): void {
  // Another reader may have had it enriched meanwhile.
  if (!isEnriched(span)) note(span, { ...findInteraction(span), ...part });
}

/** Undefined for what is not JSON; hashing it reports that. */
function textOfArguments(value: unknown): string | undefined {
  try {
    return hashableText(value);
  } catch {
    return undefined;
  }
}

/**
 * Marks a span as enriched, so that no processor computes its signals again. For code that enriches spans itself;
 * `redactContent` still applies to text of other instrumentations on the span.
 */
export function markEnriched(span: object): void {
  try {
    (span as MarkedSpan)[ENRICHED] = true;
  } catch {
    // A frozen span cannot be marked; enriching it again is harmless.
  }
}

/** Whether {@link markEnriched} was called for a span. */
export function isEnriched(span: object): boolean {
  return (span as MarkedSpan)[ENRICHED] === true;
}

/** Merges two interactions; `over` takes precedence, and usage is merged count by count. */
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
