/** Servers that give the results a test wants, in processes of their own (see answers-server.ts). */
import { serverFile } from './server-file.ts';

export interface Answers {
  readonly tools: readonly object[];
  readonly results: Readonly<Record<string, readonly unknown[]>>;
  readonly resources?: Readonly<Record<string, readonly object[]>>;
}

/** The config entry of a server with these answers. */
export function answersServer(answers: Answers): { command: string; args: string[] } {
  return { command: process.execPath, args: [serverFile('answers'), JSON.stringify(answers)] };
}

/** A tool that takes whatever it is given. */
export function anyTool(name: string, more: object = {}): object {
  return { name, description: `The tool ${name}`, inputSchema: { type: 'object' }, ...more };
}

/** A result that is one text. */
export function textResult(text: string, isError = false): object {
  return { content: [{ type: 'text', text }], ...(isError ? { isError } : {}) };
}
