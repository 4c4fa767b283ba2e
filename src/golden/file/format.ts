/**
 * A golden: one complete run in one file. `schema/golden.schema.json` describes the same format.
 *
 * Terminology. An *exchange* is one HTTP request to a model provider and its response. The *cassette* holds the MCP side:
 * the tools of each server and every tool call with its result. A golden is *recorded* when a provider's model answered,
 * and *scripted* when people or programs wrote the answers.
 */

import type { JsonObject } from '../../json/index.ts';

/** Format version that this package writes and reads; higher versions are refused. */
export const FORMAT_VERSION = 1;

export type GoldenSource = 'recorded' | 'scripted';

export const GOLDEN_CATEGORIES = [
  'happy_path',
  'error_recovery',
  'provider_comparison',
  'edge_case',
] as const;

export type GoldenCategory = (typeof GOLDEN_CATEGORIES)[number];

/**
 * What produced the run: `mcp_ghost` is an orchestrated run, `policy_host` one policy-gated step (`PolicyHost.askOnce`),
 * `other` any other program; its exchanges can be played back, but the file cannot rerun it.
 */
type GoldenRunner = 'mcp_ghost' | 'policy_host' | 'other';

export interface Golden {
  readonly format_version: typeof FORMAT_VERSION;
  readonly test_name: string;
  readonly description: string;
  readonly category: GoldenCategory;
  readonly runner: GoldenRunner;
  readonly source: GoldenSource;
  /** ISO 8601; null for goldens that a script generates. */
  readonly recorded_at: string | null;
  /** ISO 8601; null if it never expires. */
  readonly expires_at: string | null;
  readonly versions: GoldenVersions;
  readonly input: GoldenInput;
  readonly golden_output: GoldenOutput;
  readonly comparison: ComparisonRules;
  /** Packed in files, see {@link packExchanges}; in memory always expanded. */
  readonly provider_responses: readonly ProviderExchange[];
  /** Null for runs without MCP servers. */
  readonly mcp_cassette: McpCassette | null;
  /** Not covered by the checksum. */
  readonly approval?: GoldenApproval;
  readonly checksum: GoldenChecksum;
}

/** A person has looked at the golden and found it right. */
interface GoldenApproval {
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
  /** The checksum then; the approval is void for any other. */
  readonly sha256: string;
  readonly note?: string;
}

/** A golden before it is sealed with its checksum. */
export type UnsealedGolden = Omit<Golden, 'checksum'>;

/** The versions involved, to attribute a difference to one of them. */
export interface GoldenVersions {
  /** Version of this package. */
  readonly observatory: string;
  /** The provider's SDK, as its requests named it; null if they did not. */
  readonly sdk: { readonly name: string; readonly version: string } | null;
  /** The models that answered, by the provider's names. */
  readonly models: readonly string[];
  /** SHA-256 of each server's tool list in canonical JSON, by server. */
  readonly tools: Readonly<Record<string, string>>;
}

/** Input of the run. Fields that the runner does not use are absent. */
export interface GoldenInput extends JsonObject {
  readonly provider: string;
  readonly model: string;
  readonly system_prompt?: string;
  readonly user_prompt?: string;
  /** Servers in the form of `server_config.json`; values of `env` and `headers` are replaced by `${NAME}`. */
  readonly server_config?: JsonObject;
  /** The given options, in snake_case. */
  readonly options?: JsonObject;
  /** Given options that a file cannot hold, such as `gate` or `handlers`. A replay needs them again. */
  readonly options_not_kept?: readonly string[];
}

/** Output of the run; for `mcp_ghost` as in `schema/ghost-result.schema.json`. */
export type GoldenOutput = JsonObject;

/** One HTTP request to a provider and its response. */
export interface ProviderExchange {
  /** Model turn, from 1. Retries of a turn share its number. */
  readonly iteration: number;
  /**
   * Made from a trace: `body` of the request is its content in the form of the semantic conventions, and requests match by
   * that. The answer is given as the API of the request gives it.
   */
  readonly content_only?: true;
  readonly request: WireRequest;
  readonly response: WireResponse;
  readonly token_usage: ExchangeUsage | null;
  /** Null if it is not known, as of imported recordings. */
  readonly duration_ms: number | null;
  /** When the request was made, ISO 8601; only of imported recordings and of programs. */
  readonly started_at?: string;
  /**
   * Positions of a request and of the end of its answer among all requests and answers of the run, model and servers
   * together; only of programs. A replay gives answers in this order. What came in one chunk has one whole number.
   */
  readonly order?: readonly [asked: number, answered: number];
  /**
   * Of a stream that came while other things happened: how many of its events had come at a position of the same
   * sequence, from its head on, which has none.
   */
  readonly arrived?: readonly (readonly [events: number, at: number])[];
}

export interface WireRequest {
  readonly method: string;
  /** URL path without host, with allowed query parameters (`alt`). */
  readonly path: string;
  /** Allowed headers only: API versions. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Has exactly one of `body`, `text`, `base64`, `events` and `error`. */
export interface WireResponse {
  /** HTTP status; 0 for no response, see `error`. */
  readonly status: number;
  /** Allowed headers only: the content type and those that control retries. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly text?: string;
  /** A body that is not text. */
  readonly base64?: string;
  readonly events?: readonly StreamEvent[];
  /** Line ending of the stream. @defaultValue `\n` */
  readonly line_end?: string;
  /** Set when the connection broke after this much of the response. The last event of a stream is then incomplete. */
  readonly cut?: NetworkFault;
  /** Why there was no response. */
  readonly error?: NetworkFault;
}

/** A failed connection; `code` is Node's, such as `ECONNREFUSED`, if there is one. */
export interface NetworkFault {
  readonly code: string | null;
  readonly message: string;
}

/** One server-sent event: its name and JSON data, or its raw text if it has another form. */
export type StreamEvent = { readonly event?: string; readonly data: unknown } | { readonly raw: string };

/** Tokens of one exchange; prompt and completion include cached and reasoning tokens. */
export interface ExchangeUsage {
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly total_tokens: number | null;
}

export interface McpCassette {
  readonly servers: Readonly<Record<string, McpServerCassette>>;
  /** Every `tools/call` to any server, in start order; of programs every other request too, but for {@link OFFERS}. */
  readonly calls: readonly McpCall[];
  /** Requests of {@link OFFERS}, in start order; only of programs. A replay answers them as often as they are made. */
  readonly offers?: readonly McpCall[];
}

/** Methods that ask what a server offers, and change nothing. */
export const OFFERS: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
]);

export interface McpServerCassette {
  /** How a program reached it; absent for servers that are found by their configured name. */
  readonly reached?: Reached;
  /** Each connection to the server, in order; more than one if it died and was restarted, or was opened again. */
  readonly connections: readonly McpConnection[];
}

/** The command of a server over stdio, or the address of one over HTTP, without its query. */
export type Reached =
  | { readonly command: string; readonly args: readonly string[] }
  | { readonly url: string };

export type McpConnection =
  | {
      readonly outcome: 'ready';
      /** The client's SDK; absent if it is not known. */
      readonly sdk?: 'v1' | 'v2';
      readonly protocol_version: string | null;
      readonly server_info: JsonObject | null;
      readonly capabilities: JsonObject;
      readonly instructions: string | null;
      /** What `tools/list` returned, pages joined: at first, and after each announced change. */
      readonly tool_lists: readonly (readonly unknown[])[];
    }
  | { readonly outcome: 'failed'; readonly error: string };

/**
 * How a call ended: with a `CallToolResult`, a JSON-RPC `error`, or no response: `timeout`, `lost` (the server went
 * away) or `cancelled` (by the caller's signal).
 */
type McpCallOutcome = 'result' | 'error' | 'timeout' | 'lost' | 'cancelled';

export interface McpCall {
  readonly server: string;
  /** The tool, or the method of a request that calls none, such as `resources/read`. */
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly outcome: McpCallOutcome;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  /** Why there was no response. */
  readonly message?: string;
  /** The server no longer knew the session, so the call never ran; it was made again on the next connection. */
  readonly session_expired?: true;
  /** The server announced a changed tool list during or after this call. */
  readonly tools_changed?: true;
  /** The server went away during or after this call: the cause, and the end of its stderr. */
  readonly server_died?: { readonly cause: string; readonly stderr: string };
  /**
   * Notifications and requests of the server while the call was open, each with its position `at` in the sequence of
   * `order`; only of programs, as are the next two.
   */
  readonly sent_before?: readonly JsonObject[];
  /** Those after its answer, until the next call. */
  readonly sent_after?: readonly JsonObject[];
  /** As of an exchange with a provider. */
  readonly order?: readonly [asked: number, answered: number];
  readonly duration_ms: number;
}

/** How a final answer is compared with the golden's. */
export type AnswerCheck =
  /** The same text. */
  | { readonly check: 'exact' }
  /** It contains each of these texts, ignoring case. */
  | { readonly check: 'contains'; readonly texts: readonly string[] }
  /** The same text, ignoring case, white space, ids, dates and numbers. */
  | { readonly check: 'normalised_hash' }
  /** Jaccard similarity of the two word sets is at least `least` (0 to 1). */
  | { readonly check: 'token_overlap'; readonly least: number }
  /** Anything. */
  | { readonly check: 'any' };

/**
 * What a volatile field must be, instead of equal: `any` value, one of the `same_type`, a `uuid`, an ISO 8601
 * `timestamp`, a `number`, a string `like` a pattern in which `*` matches any characters, or the recorded string but for
 * `volatile` parts: the pattern's `*`, each of which matches what is like the recorded part.
 */
export type Matcher =
  | 'any'
  | 'same_type'
  | 'uuid'
  | 'timestamp'
  | 'number'
  | { readonly like: string }
  | { readonly volatile: string };

export interface ComparisonRules {
  readonly final_answer: AnswerCheck;
  /** Rules for fields that vary between runs, by path (`tool_chain[*].arguments.date`). */
  readonly matchers: Readonly<Record<string, Matcher>>;
  readonly bounds: PerformanceBounds;
}

/** Limits on time and tokens of a run. Absent fields are not checked. */
interface PerformanceBounds {
  readonly max_seconds?: number;
  readonly max_total_tokens?: number;
  /** Maximum of total tokens as a multiple of the golden's, such as 1.2. */
  readonly max_token_ratio?: number;
  /** Of the whole run, in US dollars. */
  readonly max_cost_usd?: number;
}

/** SHA-256 of the expanded golden without this field, in canonical JSON. */
export interface GoldenChecksum {
  readonly sha256: string;
  /** First 8 hex digits of the hash of each part, by place. They locate a change. */
  readonly parts: Readonly<Record<string, string>>;
}
