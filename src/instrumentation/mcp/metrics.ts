/** The four duration metrics of the semantic conventions, with attributes a peer cannot multiply. */
import type { Attributes, Histogram, Meter } from '@opentelemetry/api';
import { BoundedNames, semconv } from '../../base/index.ts';
import { ATTR_CLIENT_NAME, ATTR_SERVER_NAME } from './identity.ts';
import { PROTOCOL_METHODS } from './methods.ts';
import type { McpSide } from './types.ts';

/** Buckets of the semantic conventions for MCP, in seconds. */
const BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const OPTIONS = { unit: 's', advice: { explicitBucketBoundaries: BOUNDARIES } };

/** Error types, status codes and protocol versions kept apart: peers choose these too, but from a short list. */
const MAX_CODES = 50;

export class McpMetrics {
  /** False where no meter provider is set: then nothing is computed for them. */
  readonly enabled: boolean;
  readonly #operations: Readonly<Record<McpSide, Histogram>>;
  readonly #sessions: Readonly<Record<McpSide, Histogram>>;
  readonly #bounded: Readonly<Record<string, BoundedNames>>;

  constructor(meter: Meter, maxNames: number) {
    this.enabled = meter.constructor.name !== 'NoopMeter';
    const histogram = (name: string, description: string) =>
      meter.createHistogram(name, { ...OPTIONS, description });
    this.#operations = {
      client: histogram(
        semconv.METRIC_MCP_CLIENT_OPERATION_DURATION,
        'Duration of an MCP request or notification as its sender sees it, to the response or the failure.',
      ),
      server: histogram(
        semconv.METRIC_MCP_SERVER_OPERATION_DURATION,
        'Duration of an MCP request or notification as its receiver sees it, to the answer.',
      ),
    };
    this.#sessions = {
      client: histogram(
        semconv.METRIC_MCP_CLIENT_SESSION_DURATION,
        'Duration of an MCP session as the client sees it.',
      ),
      server: histogram(
        semconv.METRIC_MCP_SERVER_SESSION_DURATION,
        'Duration of an MCP session as the server sees it.',
      ),
    };
    this.#bounded = {
      [semconv.ATTR_MCP_METHOD_NAME]: new BoundedNames(maxNames, PROTOCOL_METHODS),
      [semconv.ATTR_GEN_AI_TOOL_NAME]: new BoundedNames(maxNames),
      [semconv.ATTR_GEN_AI_PROMPT_NAME]: new BoundedNames(maxNames),
      [ATTR_SERVER_NAME]: new BoundedNames(maxNames),
      [ATTR_CLIENT_NAME]: new BoundedNames(maxNames),
      [semconv.ATTR_ERROR_TYPE]: new BoundedNames(MAX_CODES, undefined, semconv.ERROR_TYPE_VALUE_OTHER),
      [semconv.ATTR_RPC_RESPONSE_STATUS_CODE]: new BoundedNames(MAX_CODES),
      [semconv.ATTR_MCP_PROTOCOL_VERSION]: new BoundedNames(MAX_CODES),
    };
  }

  /** @param attributes As {@link bound} has made them. */
  recordOperation(side: McpSide, seconds: number, attributes: Attributes): void {
    this.#operations[side].record(seconds, attributes);
  }

  recordSession(side: McpSide, seconds: number, attributes: Attributes): void {
    this.#sessions[side].record(seconds, this.bound(attributes));
  }

  /** @param attributes Owned by the caller, changed here: names beyond the limits become `_other`. */
  bound(attributes: Attributes): Attributes {
    for (const key in this.#bounded) {
      const value = attributes[key];
      if (typeof value === 'string') attributes[key] = this.#bounded[key]?.admit(value);
    }
    return attributes;
  }
}
