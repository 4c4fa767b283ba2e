/** Reads recorded exchanges from the shared test data; its README describes their format. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Api } from './scripted-request.ts';

// biome-ignore lint/suspicious/noExplicitAny: recordings have any shape; a wrong guess fails the test
export type Json = any;

/** One exchange as it was recorded, of any API. */
export interface Exchange {
  readonly id: string;
  readonly provider: Api;
  readonly api: string;
  readonly model: string | null;
  readonly request: { readonly path: string; readonly body: Record<string, unknown> } | null;
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly sse?: string;
  };
}

/** An exchange of one of the three APIs that the scripted provider speaks too. */
export interface Recording extends Omit<Exchange, 'api'> {
  readonly api: Api;
  readonly model: string;
  readonly request: NonNullable<Exchange['request']>;
}

const APIS: Readonly<Record<string, Api>> = {
  'chat.completions': 'openai',
  messages: 'anthropic',
  generateContent: 'gemini',
  streamGenerateContent: 'gemini',
};

export const CASSETTES: string = join(process.env.OBSERVATORY_DATA ?? '../shared/data', 'cassettes');
export const hasCassettes: boolean = existsSync(CASSETTES);

/** All exchanges of these files. */
export function exchanges(files: readonly string[]): Exchange[] {
  return files
    .flatMap((file) => readFileSync(join(CASSETTES, `${file}.jsonl`), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Exchange);
}

/** The exchanges of Chat Completions, Messages and `generateContent` that include the request. */
export function recordings(files: readonly string[]): Recording[] {
  return exchanges(files)
    .filter(({ api, request }) => APIS[api] !== undefined && request?.body !== undefined)
    .map((row) => ({ ...row, api: APIS[row.api] }) as Recording);
}

/** The JSON payloads of a recorded stream. */
export function sseEvents(sse: string): Json[] {
  return sse
    .split(/\r\n\r\n|\n\n|\r\r/)
    .flatMap((event) => event.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:')))
    .map((line) => line.slice(5).trim())
    .filter((data) => data !== '' && data !== '[DONE]')
    .map((data) => JSON.parse(data) as Json);
}
