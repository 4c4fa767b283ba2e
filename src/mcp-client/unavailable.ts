import { stripVTControlCharacters } from 'node:util';
import { ObservatoryError, withoutUserInfo } from '../base/index.ts';
import { isObject, readList, redactText, stringAt } from '../json/index.ts';

export const DEFAULT_CONNECT_TIMEOUT_MS = 60_000;

export function notReadyWithin(limitMs: number): string {
  return `did not become ready within ${limitMs} ms`;
}

export interface ProgramOutput {
  /** The last of it. */
  readonly stderr: string;
  /** The first of what was no message of MCP. */
  readonly stdout?: string | undefined;
}

/** A server could not be opened; with what its program wrote until then. */
export class OpenFailure extends Error {
  readonly output: ProgramOutput;

  constructor(message: string, output: ProgramOutput, cause: unknown) {
    super(message, { cause });
    this.output = output;
  }
}

/**
 * The error for a server that could not be opened or went away. An `ObservatoryError` without a better explanation in
 * `why` is passed on as it is.
 */
export function unavailable(
  server: string,
  cause: unknown,
  why: string | undefined,
  output: ProgramOutput | undefined,
): ObservatoryError {
  if (why === undefined && ObservatoryError.isInstance(cause)) return cause;
  const said = quoteOutput(cause instanceof OpenFailure ? cause.output : output);
  const text = `${goneBecause(server, why ?? readReason(cause))}${said}`;
  return new ObservatoryError('SERVER_UNAVAILABLE', text, { cause });
}

/** The sentence that says why a server is gone, without what its program wrote: that is not for a model to read. */
export function goneBecause(server: string, why: string): string {
  return `Server "${server}": ${asSentence(withoutUserInfo(why))}`;
}

function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

const MAX_STDERR = 1_000;
const MAX_STDOUT = 300;

function quoteOutput({ stderr = '', stdout = '' }: Partial<ProgramOutput> = {}): string {
  const [first, last] = [readable(stdout).slice(0, MAX_STDOUT), readable(stderr).slice(-MAX_STDERR)];
  const onStdout = first === '' ? '' : ` On stdout, where messages of MCP belong, it wrote: ${first}`;
  return `${onStdout}${last === '' ? '' : ` Last output on stderr: ${last}`}`;
}

/** What a program wrote, without colors and secrets. */
function readable(text: string): string {
  return redactText(stripVTControlCharacters(text)).trim();
}

/** Longest message of a server that is passed on. */
const MAX_REASON = 8_192;

/** The message of an error, cut to size; `fetch` says only "fetch failed" and keeps the reason in `cause`. */
export function readReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, MAX_REASON);
  const { cause } = error;
  const issues = readIssues(error);
  if (issues !== undefined) return issues;
  const message = error.message.slice(0, MAX_REASON).replace(/^MCP error -?\d{1,9}: /, '');
  return cause instanceof Error && cause.message !== '' && !(error instanceof OpenFailure)
    ? `${message}: ${cause.message.slice(0, MAX_REASON)}`
    : message;
}

/** Whether the SDKs could not read what a server sent: a sign of life, for instance. */
export function isNoMessage(error: unknown): boolean {
  return error instanceof SyntaxError || (error instanceof Error && readIssues(error) !== undefined);
}

const MAX_ISSUES = 3;

/** The SDKs check messages with Zod, whose errors have a list of issues as JSON for their message. */
function readIssues(error: Error): string | undefined {
  const { issues } = error as { issues?: unknown };
  if (!Array.isArray(issues)) return undefined;
  const said = issues.slice(0, MAX_ISSUES).map((issue) => {
    const path = isObject(issue) ? readList(issue.path).join('.') : '';
    return `${path === '' ? '' : `${path}: `}${stringAt(issue, 'message') ?? 'invalid'}`;
  });
  return `the server sent a message that is no MCP (${said.join('; ')})`.slice(0, MAX_REASON);
}
