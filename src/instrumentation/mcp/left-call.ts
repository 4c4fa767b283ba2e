/** What is left to write on the span of a message that went well, where the span is read some time after its end. */
import type { Span } from '@opentelemetry/api';
import { attachInteraction, type LateWork } from '../../interaction/index.ts';
import { KeptValues } from '../../json/index.ts';
import type { Connection } from './connection.ts';
import {
  describeStart,
  type StartFacts,
  setMissing,
  type ToolCallContent,
  toolCallContent,
} from './operation-span.ts';
import type { RequestOutcome } from './outcome.ts';

/**
 * Holds little: many wait at a time, and what survives a collection of garbage is copied by it, while a caller waits.
 */
export class LeftCall implements LateWork {
  characters = 0;
  readonly #span: Span;
  readonly #start: StartFacts;
  readonly #connection: Connection;
  readonly #parties: Readonly<Record<string, string>>;
  #toolArguments: unknown;
  #content: ToolCallContent | undefined;

  constructor(span: Span, start: StartFacts, connection: Connection) {
    this.#span = span;
    this.#start = start;
    this.#connection = connection;
    this.#parties = connection.identity.attributes;
  }

  /** Keeps arguments and result of a tool call as they are now. */
  keep(toolArguments: unknown, outcome: RequestOutcome): this {
    if (toolArguments !== undefined) {
      const values = new KeptValues();
      this.#toolArguments = values.keep(toolArguments);
      this.characters = values.characters;
    }
    const { settings } = this.#connection.telemetry;
    if (settings.captureContent) {
      this.#content = toolCallContent(toolArguments, outcome, settings);
      this.characters += this.#content.characters;
    }
    return this;
  }

  write(): void {
    this.#connection.telemetry.guard.run('mcp.late', () => {
      const span = this.#span;
      describeStart(span, this.#start, setMissing);
      setMissing(span, this.#parties);
      const toolArguments = this.#toolArguments;
      if (toolArguments !== undefined) attachInteraction(span, { toolArguments });
      this.#content?.write(span);
    });
  }
}
