/** Reads the recorded exchanges beside the repository; see the README there for their form. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Api } from './scripted-request.ts';

export type Json = Record<string, unknown>;

export interface Recording {
  readonly id: string;
  readonly api: Api;
  readonly model: string;
  readonly request: { readonly path: string; readonly body: Json };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly sse?: string;
  };
}

const APIS: Readonly<Record<string, Api>> = {
  'chat.completions': 'openai',
  messages: 'anthropic',
  generateContent: 'gemini',
  streamGenerateContent: 'gemini',
};

export const CASSETTES: string = join(process.env.OBSERVATORY_DATA ?? '../shared/data', 'cassettes');
export const hasCassettes: boolean = existsSync(CASSETTES);

/** The exchanges of the three APIs the providers speak; others (responses, countTokens) are left out. */
export function recordings(files: readonly string[]): Recording[] {
  return files
    .flatMap((file) => readFileSync(join(CASSETTES, `${file}.jsonl`), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Json & { api: string })
    .filter((row) => APIS[row.api] !== undefined && (row.request as { body?: unknown } | null)?.body)
    .map((row) => ({ ...(row as unknown as Recording), api: APIS[row.api] as Api }));
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
