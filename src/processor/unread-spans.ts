import type { Span as ApiSpan } from '@opentelemetry/api';
import type { ReadableSpan, Span } from '@opentelemetry/sdk-trace';
import { isOwnScope } from '../base/index.ts';
import {
  acceptLateWork,
  hasInteraction,
  interactionKind,
  isModelCall,
  type LateReader,
  lateCharacters,
} from '../interaction/index.ts';
import { LARGE_CHARS } from '../signals/index.ts';
import type { ToolMemory } from './tool-memory.ts';
import { giveBack, hasRoom, isOfSdk, isUnread, writeWhenRead } from './unread-span.ts';
import { type LateEnricher, WaitingSpans, writeLate } from './waiting-spans.ts';

/** A reader of the last one waits for all of them: milliseconds, and tens of them where the texts are long. */
const MAX_SPANS = 128;
const MAX_CHARACTERS = 524_288;
const BATCH = 32;

/**
 * Enriches spans in somebody else's pipeline after the calls they are of: in batches soon after, or when somebody reads a
 * span before that. Processors, exporters and tests find on it what they would if it had been enriched as it ended.
 */
export class UnreadSpans implements LateReader {
  readonly #enricher: LateEnricher;
  readonly #mayWait: () => boolean;
  readonly #tools: Pick<ToolMemory, 'isAround'>;
  readonly #waiting: WaitingSpans;
  /** Of the waiting spans, the number of the last that tool calls must come after. */
  #inTurn = 0;

  /** @param mayWait whether spans may wait at all; it may throw. */
  constructor(enricher: LateEnricher, mayWait: () => boolean, tools: Pick<ToolMemory, 'isAround'>) {
    this.#enricher = enricher;
    this.#mayWait = mayWait;
    this.#tools = tools;
    this.#waiting = new WaitingSpans(enricher, {
      maxSpans: MAX_SPANS,
      maxCharacters: MAX_CHARACTERS,
      batch: BATCH,
      isBounded: true,
      open: giveBack,
      close: (span) => this.#hide(span),
    });
  }

  /** Lets our instrumentations leave work on the span of a model call that starts. Never throws. */
  accept(span: Span): void {
    try {
      if (isOwnScope(span.instrumentationScope?.name) && this.#mayWait()) acceptLateWork(span, this);
    } catch {
      // A broken span or meter provider: the span is written as it ends, where faults are counted.
    }
  }

  left(span: ApiSpan): void {
    const own = span as unknown as ReadableSpan;
    if (isOfSdk(own) && hasRoom(own)) this.#hide(own);
    else writeLate(own);
  }

  /**
   * Takes over a span that ends, if it can wait: large texts attached to it are read as it ends, in a bounded time. Never throws.
   * @returns false if it is to be enriched now.
   */
  take(span: ReadableSpan): boolean {
    try {
      // What another processor is still to write is written now: it comes first.
      const kind = isUnread(span, this.#read) ? 'model' : interactionKind(span);
      // Enriching a tool call takes less time than hiding it.
      if (kind === 'tool' && this.isOutOfTurn(span)) return false;
      const isCall = isModelCall(kind) || hasInteraction(span);
      // Others may be around calls that wait, and those come first.
      if (!isCall && this.#waiting.size === 0) return false;
      if (this.#add(span, isCall || kind !== undefined)) {
        if (kind === 'tool' || span.parentSpanContext === undefined) this.#inTurn = this.#waiting.added;
        return true;
      }
    } catch {
      // It is enriched now, where faults are counted.
    }
    this.settleNow();
    giveBack(span);
    writeLate(span);
    return false;
  }

  /**
   * Whether the turn of a tool call does not matter. It does to the root of a trace, with which its calls are forgotten, to
   * another tool, and to a model call inside the tool: it is held against the tools inside, whose place the tool takes.
   */
  isOutOfTurn(span: ReadableSpan): boolean {
    if (span.parentSpanContext === undefined) return false;
    if (this.#waiting.size === 0) return true;
    return this.#waiting.settled >= this.#inTurn && !this.#tools.isAround(span);
  }

  #add(span: ReadableSpan, isWritten: boolean): boolean {
    if (isWritten && !this.#mayBeWritten(span)) return false;
    const characters = isWritten ? lateCharacters(span) + this.#enricher.keepForLater(span) : 0;
    if (characters > LARGE_CHARS) return false;
    if (isWritten) this.#hide(span);
    this.#waiting.add(span, characters);
    return true;
  }

  /** Whether a span may be written later. What is attached is captured at once, and must take no place of the fields. */
  #mayBeWritten(span: ReadableSpan): boolean {
    return (isUnread(span, this.#read) || (isOfSdk(span) && hasRoom(span))) && this.#mayWait();
  }

  settle(): Promise<void> {
    return this.#waiting.settle();
  }

  settleNow(): void {
    this.#waiting.settleNow();
  }

  #hide(span: ReadableSpan): void {
    if (!isUnread(span, this.#read)) writeWhenRead(span, this.#read);
  }

  readonly #read = (span: ReadableSpan): void => {
    this.#waiting.settleThrough(span);
    writeLate(giveBack(span));
  };
}
