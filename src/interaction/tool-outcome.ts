import { isObject, type JsonObject, parseContainer, readList, toJsonText, toText } from '../json/index.ts';

/**
 * A tool's result as text, and whether the protocol or the dialect says that it failed: by that a result is evidence or
 * a failure of the conversation. Whether a call achieved what an answer claims (a refusal in any words, nothing found,
 * a part that failed) is another question, asked of all steps in `signals/claims/outcome.ts`, which takes this verdict
 * as `isError`.
 */
export interface ToolOutcome {
  readonly text: string;
  readonly failed: boolean;
  /** Whether it holds only non-text content, such as an image. */
  readonly isOpaque: boolean;
}

/**
 * Reads a tool result in any form: text, content blocks, an MCP `CallToolResult`, Gemini's `{output}` / `{error}`, the
 * AI SDK's `{type, value}`, or any JSON value.
 *
 * A result failed when it is flagged (`isError`, `is_error`), when it is an object with an `error` and no result
 * (Gemini's form), or, in dialects without a flag, when its text is such an object serialized or starts like a printed
 * error (`Error: ...`, `TypeError: ...`, `MCP error -32602: ...`).
 */
export function toolOutcome(result: {
  readonly response: unknown;
  readonly isError?: boolean | undefined;
}): ToolOutcome {
  const text = toolResultText(result.response);
  const failed = result.isError ?? saysFailure(result.response, text);
  return { text, failed, isOpaque: text === '' && holdsOther(result.response) };
}

function holdsOther(response: unknown): boolean {
  const blocks = readList(isObject(response) ? response.content : response);
  return blocks.some((block) => isObject(block) && toText(block.type) !== undefined && block.type !== 'text');
}

/** The text of a tool result; JSON if it is neither text nor content blocks. */
export function toolResultText(response: unknown): string {
  if (typeof response === 'string') return response;
  if (response === undefined || response === null) return '';
  if (Array.isArray(response)) return blocksText(response) ?? toJsonText(response) ?? '';
  if (!isObject(response)) return String(response);
  return recordText(response) ?? toJsonText(response) ?? '';
}

function recordText(response: JsonObject): string | undefined {
  if (Array.isArray(response.content)) {
    const text = blocksText(response.content);
    if (text !== undefined && text !== '') return text;
    if (response.structuredContent !== undefined) return toJsonText(response.structuredContent);
    return text;
  }
  for (const key of WRAPPERS) {
    if (Object.hasOwn(response, key) && isOnlyPayload(response, key)) return toolResultText(response[key]);
  }
  return undefined;
}

const WRAPPERS = ['output', 'result', 'error', 'value', 'text', 'content'] as const;

function isOnlyPayload(response: JsonObject, payload: string): boolean {
  for (const key in response) {
    if (key !== payload && key !== 'type' && key !== 'isError' && key !== 'is_error') return false;
  }
  return true;
}

/** Text of content blocks, or `undefined` when the list holds anything that is not a block. */
function blocksText(blocks: readonly unknown[]): string | undefined {
  const texts: string[] = [];
  for (const block of blocks) {
    if (!isObject(block) || typeof block.type !== 'string') return undefined;
    if (typeof block.text === 'string') texts.push(block.text);
    else if (typeof block.content === 'string') texts.push(block.content);
    else if (isObject(block.resource) && typeof block.resource.text === 'string') {
      texts.push(block.resource.text);
    } else if (
      isObject(block.source) &&
      typeof block.source.data === 'string' &&
      block.source.type === 'text'
    ) {
      texts.push(block.source.data);
    } else if (Array.isArray(block.content)) texts.push(...readList(block.content).map(innerText));
  }
  return texts.filter((text) => text !== '').join('\n');
}

function innerText(block: unknown): string {
  return isObject(block) && typeof block.text === 'string' ? block.text : '';
}

function saysFailure(response: unknown, text: string): boolean {
  if (isObject(response)) return isFailure(response);
  if (ERROR_OPENING.test(text.slice(0, OPENING_LENGTH))) return true;
  if (text.length > MAX_SERIALIZED_ERROR || !ERROR_FIELD.test(text)) return false;
  const parsed = parseContainer(text);
  return isObject(parsed) && isFailure(parsed);
}

/** Errors start with their name; searching further would only find false positives. */
const OPENING_LENGTH = 80;
const ERROR_OPENING =
  /^\s{0,8}(?:\w{0,40}(?:Error|Exception): |error: |MCP error -?\d{1,6}: |Traceback \(most recent)/;
/** Serialized errors are short, so long results are not parsed in search of a flag. */
const MAX_SERIALIZED_ERROR = 65_536;
const ERROR_FIELD = /"(?:error|isError|is_error)"/;

/** The AI SDK's `error-text`, Anthropic's `web_search_tool_result_error`. */
const ERROR_TYPE = /^error-|_tool_result_error$/;

function isFailure(result: JsonObject): boolean {
  const flag = result.isError ?? result.is_error;
  if (typeof flag === 'boolean') return flag;
  if (typeof result.type === 'string' && ERROR_TYPE.test(result.type)) return true;
  const { error } = result;
  if (error === undefined || error === null || error === false || error === '') return false;
  return result.output === undefined && result.result === undefined;
}
