/**
 * The file form of a golden: one run kept whole, in the words of its wire form. `schema/golden.schema.json` describes
 * the same; a test holds the two together.
 *
 * Terms. An *exchange* is one HTTP request to a model provider and what came back. The *cassette* holds what the MCP
 * servers said: their tools, and each call with its result. A golden is *recorded* when a provider's model answered,
 * and *scripted* when its answers were written by people or programs; it says which wherever it is shown.
 */

import type { JsonObject } from '../../json/index.ts';

/** Version of the form written by this package. Version 1 is read as well; a golden with a higher one is refused. */
export const FORMAT_VERSION = 2;

export type GoldenSource = 'recorded' | 'scripted';

/** What a golden is there to show. */
export type GoldenCategory = 'happy_path' | 'error_recovery' | 'provider_comparison' | 'edge_case';

/**
 * What made the run: `mcp_ghost` is an orchestrated run, `policy_host` one policy-gated step (`PolicyHost.askOnce`),
 * `other` a program of its own, whose exchanges can be played but not run again from the file.
 */
export type GoldenRunner = 'mcp_ghost' | 'policy_host' | 'other';

export interface Golden {
  /** Exchanges are packed in files of version 2, see {@link packExchanges}; here they are always whole. */
  readonly format_version: 1 | typeof FORMAT_VERSION;
  readonly test_name: string;
  readonly description: string;
  readonly category: GoldenCategory;
  readonly runner: GoldenRunner;
  readonly source: GoldenSource;
  /** ISO 8601; null for goldens that a script makes anew, which have no date worth telling. */
  readonly recorded_at: string | null;
  /** ISO 8601; null for never. */
  readonly expires_at: string | null;
  readonly versions: GoldenVersions;
  readonly input: GoldenInput;
  readonly golden_output: GoldenOutput;
  readonly comparison: ComparisonRules;
  readonly provider_responses: readonly ProviderExchange[];
  /** Null where no MCP server took part. */
  readonly mcp_cassette: McpCassette | null;
  readonly checksum: GoldenChecksum;
}

/** A golden before it is sealed with its checksum. */
export type UnsealedGolden = Omit<Golden, 'checksum'>;

/** What took part, so that a difference can be put down to a version. */
export interface GoldenVersions {
  /** Version of this package. */
  readonly observatory: string;
  /** The provider's SDK as it named itself in its requests; null when it did not. */
  readonly sdk: { readonly name: string; readonly version: string } | null;
  /** The models that answered, as the provider named them. */
  readonly models: readonly string[];
  /** SHA-256 of each server's tool list as canonical JSON, by server. */
  readonly tools: Readonly<Record<string, string>>;
}

/** What the run was given. Fields that a runner does not use are absent. */
export interface GoldenInput extends JsonObject {
  readonly provider: string;
  readonly model: string;
  readonly system_prompt?: string;
  readonly user_prompt?: string;
  /** Servers in the form of `server_config.json`; values of `env` and `headers` are replaced by `${NAME}`. */
  readonly server_config?: JsonObject;
  /** Options of the runner in their wire names, those that were given. */
  readonly options?: JsonObject;
  /** Options that were given and cannot be kept in a file (`gate`, `handlers`, ...): a replay must be given them again. */
  readonly options_not_kept?: readonly string[];
}

/** What the run came to: for `mcp_ghost` the form of `schema/ghost-result.schema.json`. */
export type GoldenOutput = JsonObject;

/** One HTTP request to a provider and its answer. */
export interface ProviderExchange {
  /** Model turn, from 1. Tries of one turn have the same number. */
  readonly iteration: number;
  readonly request: WireRequest;
  readonly response: WireResponse;
  readonly token_usage: ExchangeUsage | null;
  readonly duration_ms: number;
}

export interface WireRequest {
  readonly method: string;
  /** Path of the URL, with the query fields that are kept (`alt`). No host. */
  readonly path: string;
  /** The headers that are kept (versions of the API). */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** An answer has exactly one of `body`, `text`, `events` and `error`. */
export interface WireResponse {
  /** HTTP status; 0 when there was no answer, see `error`. */
  readonly status: number;
  /** The headers that are kept (content type, and what steers retries). */
  readonly headers: Readonly<Record<string, string>>;
  /** A JSON body. */
  readonly body?: unknown;
  /** A body that is not JSON. */
  readonly text?: string;
  /** A stream, one event a line of the file. */
  readonly events?: readonly StreamEvent[];
  /** Line end of the stream. Default `\n`. */
  readonly line_end?: string;
  /** The connection broke after what is kept here. Of a stream, the last event is then the broken one. */
  readonly cut?: NetworkFault;
  /** Why there was no answer. */
  readonly error?: NetworkFault;
}

/** A connection that failed, in the words of Node: `code` as `ECONNREFUSED`, where there is one. */
export interface NetworkFault {
  readonly code: string | null;
  readonly message: string;
}

/** One server-sent event: its name and JSON data, or its text as it came where that is not the usual form. */
export type StreamEvent = { readonly event?: string; readonly data: unknown } | { readonly raw: string };

/** Tokens of one exchange, cached and reasoning tokens included in prompt and completion. */
export interface ExchangeUsage {
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly total_tokens: number | null;
}

export interface McpCassette {
  readonly servers: Readonly<Record<string, McpServerCassette>>;
  /** Every `tools/call` of all servers, in the order of their start. */
  readonly calls: readonly McpCall[];
}

export interface McpServerCassette {
  /** Each opening of the server, in order: the first, and those after it had died. */
  readonly connections: readonly McpConnection[];
}

export type McpConnection =
  | {
      readonly outcome: 'ready';
      readonly sdk: 'v1' | 'v2';
      readonly protocol_version: string | null;
      readonly server_info: JsonObject | null;
      readonly capabilities: JsonObject;
      readonly instructions: string | null;
      /** The tools as `tools/list` gave them, pages joined; again after each announced change. */
      readonly tool_lists: readonly (readonly unknown[])[];
    }
  | { readonly outcome: 'failed'; readonly error: string };

/**
 * How a call ended: `result` holds the `CallToolResult`, `error` the JSON-RPC error; `timeout`, `lost` (the server went
 * away) and `cancelled` (the caller's signal) are calls that got no answer.
 */
export type McpCallOutcome = 'result' | 'error' | 'timeout' | 'lost' | 'cancelled';

export interface McpCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly outcome: McpCallOutcome;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  /** Why there was no answer. */
  readonly message?: string;
  /** The server announced other tools while it ran, or after it. */
  readonly tools_changed?: true;
  /** The server went away with this call, or after it: why, and its last words on stderr. */
  readonly server_died?: { readonly cause: string; readonly stderr: string };
  readonly duration_ms: number;
}

/** How a final answer is held against the golden's. */
export type AnswerCheck =
  /** The same text. */
  | { readonly check: 'exact' }
  /** Every one of these texts occurs in it, whatever the case. */
  | { readonly check: 'contains'; readonly texts: readonly string[] }
  /** The same text but for case, white space, ids, dates and numbers. */
  | { readonly check: 'normalised_hash' }
  /** Jaccard similarity of the two sets of words, at least `least` (0..1). */
  | { readonly check: 'token_overlap'; readonly least: number }
  /** Anything. */
  | { readonly check: 'any' };

/**
 * What a volatile field must be instead of equal: `any` value, a value of the same `type`, a `uuid`, an ISO 8601
 * `timestamp`, a `number`, or a text `like` a pattern in which `*` stands for any characters.
 */
export type Matcher = 'any' | 'same_type' | 'uuid' | 'timestamp' | 'number' | { readonly like: string };

export interface ComparisonRules {
  readonly final_answer: AnswerCheck;
  /** Fields of the output that change from run to run, by path (`tool_chain[*].arguments.date`), and what they must be. */
  readonly matchers: Readonly<Record<string, Matcher>>;
  readonly bounds: PerformanceBounds;
}

/** Limits on what a run may take. Absent fields are not checked. */
export interface PerformanceBounds {
  readonly max_seconds?: number;
  readonly max_total_tokens?: number;
  /** Most total tokens as a multiple of the golden's, e.g. 1.2. */
  readonly max_token_ratio?: number;
}

/** SHA-256 over the canonical JSON of everything but the checksum, expanded; `parts` tells where a change was made. */
export interface GoldenChecksum {
  readonly sha256: string;
  /** The first 8 hex digits of the hash of each part, by its place; 16 in files of version 1. */
  readonly parts: Readonly<Record<string, string>>;
}
