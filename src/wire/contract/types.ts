/**
 * The contract between the providers' folders (`openai/`, `anthropic/`, `gemini/`) and everything that talks or
 * listens to a provider.
 *
 * There is one reader of each API: `WireApi.readAnswer`, which reads a whole answer in the provider's own form. A stream
 * is first assembled into that form (`WireApi.newStream`, `AnswerStream.whole`) and then read by the same reader.
 */
import type { JsonObject } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import type { AssistantPart, ModelMessage } from './conversation.ts';

/**
 * Why a model stopped, in one vocabulary:
 * - `stop`: it is done. `tool_calls`: it wants tools run.
 * - `length`: the output limit cut it. `context_length`: the context window is full.
 * - `content_filter`: it refused or was blocked. `malformed_call`: it wrote a call the provider could not read.
 * - `pause`: the provider wants the turn sent back so that it can go on.
 * - `other`: a reason this version does not know; see the raw one.
 */
export type FinishReason =
  | 'stop'
  | 'tool_calls'
  | 'length'
  | 'context_length'
  | 'content_filter'
  | 'malformed_call'
  | 'pause'
  | 'other';

/** A whole answer in neutral form. A field is absent where the answer does not tell. */
export interface Answer {
  /** In semconv words; absent where several providers share the form and nothing in the answer names one. */
  readonly provider?: string | undefined;
  readonly id?: string | undefined;
  /** The answering model. */
  readonly model?: string | undefined;
  /** One per choice, in the provider's own words; in semconv words for an API that has none (Responses). */
  readonly finishReasons: readonly string[];
  /** In the sense of semconv, whatever the provider counts. Absent where it reported no token count. */
  readonly usage?: TokenUsage | undefined;
  /** Cost the provider reported, in US dollars (OpenRouter). */
  readonly costUsd?: number | undefined;
  /** Tier that served the call, in the provider's words. */
  readonly serviceTier?: string | undefined;
  /** Calls the application is asked to make, over all choices. Tools the provider runs itself do not count. */
  readonly toolCallCount: number;
  /** An error the answer itself reports, under a successful HTTP status. */
  readonly error?: ErrorReport | undefined;
  /** What the model said. Composed at the first call: most readers of telemetry never ask. */
  readonly choices: () => readonly Choice[];
}

export interface Choice {
  readonly parts: readonly AssistantPart[];
  readonly finishReason: FinishReason;
  readonly rawFinishReason?: string | undefined;
}

/** A piece of a streamed answer. */
export interface AnswerDelta {
  readonly type: 'text' | 'reasoning';
  readonly text: string;
}

/** Assembles the chunks of a stream into the provider's whole answer, in bounded memory. */
export interface AnswerStream {
  /**
   * Adds a chunk: an event of the stream, parsed. Chunks that are not understood are ignored.
   * @param onDelta called with the visible text and reasoning the chunk adds to the first choice.
   */
  push(chunk: unknown, onDelta?: (delta: AnswerDelta) => void): void;
  /** Whether the provider said that the answer is complete; a stream that ends before was cut. */
  readonly isComplete: boolean;
  /**
   * The answer so far, in the form of an answer that was not streamed. May be called at any time; the result may
   * share objects with the stream and must not be changed.
   */
  whole(): JsonObject;
}

/** What an error of a provider says, from its body or from the error its SDK throws. */
export interface ErrorReport {
  /** The provider's own word, the most specific one it gives: `overloaded_error`, `context_length_exceeded`. */
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  /** HTTP status, also where only the body of the error names it. */
  readonly status?: number | undefined;
  /** Wait the provider asks for in the body, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** What the codes and messages of a provider's errors mean. */
export interface ErrorWords {
  /** Codes of errors that have no status of their own, as in mid-stream, and may go away by waiting. */
  readonly retryable: readonly string[];
  /** Codes that stay however long one waits, whatever the status. */
  readonly final: readonly string[];
  /** Codes for a conversation longer than the model takes. */
  readonly contextLength: readonly string[];
  /** Messages that say so where the code does not. Must be linear in the length of the message. */
  readonly contextLengthMessage: RegExp;
}

/** A tool as a model sees it: the name and schema are already acceptable to the provider. */
export interface ModelTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of the arguments, an object schema. */
  readonly parameters: JsonObject;
}

/** Whether the model may, must or must not call tools. `none` keeps the tools listed and forbids calls. */
export type ToolChoice = 'auto' | 'none' | 'required';

/** A request to a model in neutral form. */
export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  /** @defaultValue 'auto' */
  readonly toolChoice?: ToolChoice | undefined;
  /** Most tokens the answer may have. @defaultValue the provider's own limit; for Anthropic, which needs one, 4,096 to 16,000 by model */
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  /** The conversation will grow and be sent again: let the provider keep what is the same. @defaultValue false */
  readonly cachePrompt?: boolean | undefined;
  /** Fields merged into the request body as they are (`reasoning_effort`, `thinking`, `generationConfig`). */
  readonly extraBody?: JsonObject | undefined;
}

/** An answer to write as the provider would stream it; reasoning is left out, for its signature cannot be made up. */
export interface WrittenAnswer {
  readonly id: string;
  readonly model: string | undefined;
  readonly text: string;
  /** `argumentsText` is JSON, or what the model wrote in its place. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly argumentsText: string }[];
  /** In the provider's own words. @defaultValue its word for a normal end */
  readonly finishReason: string | undefined;
  readonly usage: TokenUsage | undefined;
}

/** How the answers of one API are read. Made with `defineApi`, so nothing here throws on hostile values. */
export interface AnswerApi {
  /** `openai.chat`, `openai.responses`, `anthropic.messages`, `gemini.generate_content`, `bedrock.converse`. */
  readonly name: string;
  /** Whether a value is a whole answer of this API. */
  readonly recognizes: (value: JsonObject) => boolean;
  /** Reads a whole answer; of a value that is not one, an answer without fields. */
  readonly readAnswer: (whole: unknown) => Answer;
  readonly newStream: () => AnswerStream;
  /**
   * Reads an error response's body, or an error the provider's SDK threw. Undefined for an error that is not the
   * provider's: a broken connection, a fault of the program.
   */
  readonly readError: (error: unknown) => ErrorReport | undefined;
}

/** An API of a provider that requests can be sent to. */
export interface WireApi extends AnswerApi {
  /** Matches the path of its requests, without the query. */
  readonly path: RegExp;
  readonly errorWords: ErrorWords;
  /** Writes a request in the form its SDK takes, without `stream`. Throws only for a request that cannot be sent. */
  readonly writeRequest: (request: ModelRequest) => object;
  /** Writes an answer as the server-sent events of a stream. */
  readonly writeStream: (answer: WrittenAnswer) => readonly string[];
}

/** How to reach a provider. */
export interface ConnectOptions {
  /** @defaultValue the provider's environment variable, then a `.env` file in the working directory */
  readonly apiKey?: string | undefined;
  /** Base URL of the API, in the form the provider's SDK takes. */
  readonly baseUrl?: string | undefined;
  /** Which API of the provider to use, for OpenAI `chat` or `responses`. @defaultValue the one that serves the model */
  readonly api?: string | undefined;
  /** Used in place of the global `fetch`, to record or play what goes over the wire. */
  readonly fetch?: typeof fetch | undefined;
  /** Environment read for keys. @defaultValue process.env */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Headers of a response, as an SDK's error or our own `fetch` kept them. */
export interface HeaderReader {
  get(name: string): string | null;
}

/** What one try at a request may use. */
export interface Attempt {
  /** Aborts when the caller does, or when nothing came for too long. */
  readonly signal: AbortSignal;
  /** Call for each piece that arrives: it restarts the idle clock. */
  onChunk(): void;
  /** Headers of the last error response, where the SDK's error does not carry them. */
  errorHeaders?: HeaderReader | undefined;
}

/** A provider's SDK, ready to send requests. Its own retries are off. */
export interface WireConnection {
  /** To keep it out of error messages. */
  readonly apiKey: string;
  /** Host of the API, for telemetry. */
  readonly serverAddress: string | undefined;
  /** The API that serves a model. */
  apiFor(model: string): WireApi;
  /** Sends what `api.writeRequest` wrote and resolves with the whole answer. */
  send(api: WireApi, request: object, attempt: Attempt): Promise<unknown>;
  /** Sends it as a stream of chunks for `api.newStream`. */
  stream(api: WireApi, request: object, attempt: Attempt): Promise<AsyncIterable<unknown>>;
}

/** A provider: its APIs, and how to reach them. */
export interface WireProvider {
  /** The name that people write: `openai`, `anthropic`, `gemini`. */
  readonly key: string;
  /** In semconv words: `openai`, `anthropic`, `gcp.gemini`. */
  readonly name: string;
  readonly defaultModel: string;
  /** The rules that tool names and schemas are made to fit. */
  readonly toolDialect: 'openai' | 'anthropic' | 'gemini';
  readonly apis: readonly WireApi[];
  /** Host of the provider itself, to tell what it answered from what a script or a router did. */
  readonly host: string;
  /** The npm package of its SDK. */
  readonly sdk: string;
  /** Version of the SDK that made a request, from the request's headers. */
  sdkVersion(headers: HeaderReader): string | undefined;
  /** @throws ObservatoryError `API_KEY_MISSING`, `MISSING_PEER`, `INVALID_OPTION` for an unknown `api`. */
  connect(options: ConnectOptions): Promise<WireConnection>;
}
