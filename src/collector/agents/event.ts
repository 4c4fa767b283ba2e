import type { HrTime } from '@opentelemetry/api';
import { isObject, type JsonObject, parseContainer } from '../../json/index.ts';
import type { ReceivedLog } from '../../otlp/index.ts';

const MAX_DURATION_MS = 86_400_000;

/**
 * The attributes of an event or a span of a coding agent. Agents write numbers and booleans as such or as text; both are
 * read.
 */
export class AgentAttributes {
  readonly #attributes: Readonly<Record<string, unknown>>;

  constructor(attributes: Readonly<Record<string, unknown>>) {
    this.#attributes = attributes;
  }

  /** The first of these attributes that is a text or a number and not empty. */
  text(...names: readonly string[]): string | undefined {
    for (const name of names) {
      const value = this.#attributes[name];
      if (typeof value === 'string' && value !== '') return value;
      if (typeof value === 'number' || typeof value === 'bigint') return String(value);
    }
    return undefined;
  }

  /** A text, unless the agent withholds it: it then writes a word in brackets. */
  content(name: string): string | undefined {
    const text = this.text(name);
    return text === undefined || text === '<REDACTED>' || text === '[REDACTED]' ? undefined : text;
  }

  /** A finite number of at least zero. */
  number(name: string): number | undefined {
    const value = this.#attributes[name];
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined;
  }

  /** A count of tokens. */
  count(name: string): number | undefined {
    const value = this.number(name);
    return value !== undefined && Number.isSafeInteger(value) ? value : undefined;
  }

  flag(name: string): boolean | undefined {
    const value = this.#attributes[name];
    if (typeof value === 'boolean') return value;
    return value === 'true' ? true : value === 'false' ? false : undefined;
  }

  /** An object, or the JSON text of one. */
  object(name: string): JsonObject {
    const value = this.#attributes[name];
    const parsed = typeof value === 'string' ? parseContainer(value) : value;
    return isObject(parsed) ? parsed : {};
  }

  /** Who uses the agent: the account, else the installation. */
  get user(): string | undefined {
    return this.text('user.account_uuid', 'user.account_id', 'user.id', 'installation.id');
  }
}

/** One event of a coding agent. */
export class AgentEvent extends AgentAttributes {
  readonly log: ReceivedLog;

  constructor(log: ReceivedLog) {
    super(log.attributes);
    this.log = log;
  }

  /** Milliseconds that it took, at most a day; 0 where the agent does not say. */
  get durationMs(): number {
    return Math.min(this.number('duration_ms') ?? 0, MAX_DURATION_MS);
  }

  /** When it was logged, which is when it ended. */
  get time(): HrTime {
    const { time } = this.log;
    if (time[0] !== 0) return time;
    const ms = Date.parse(this.text('event.timestamp') ?? '');
    return Number.isNaN(ms) || ms < 0 ? time : [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
  }

  /** Identifies this event among those of its kind in the run; stable over repeated deliveries. */
  get fingerprint(): string {
    const named = FINGERPRINT.map((name) => this.text(name) ?? '');
    return [...this.log.time, ...named].join(' ');
  }
}

const FINGERPRINT = [
  'event.timestamp',
  'event.sequence',
  'duration_ms',
  'model',
  'tool_name',
  'function_name',
  'input_token_count',
  'output_token_count',
];
