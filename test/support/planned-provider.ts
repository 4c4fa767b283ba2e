/** A model provider that does what the prompt says: each conversation holds its own plan, so any number may go on at once. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sse } from './provider-server.ts';

/** What the model does in one turn of a conversation. */
export interface Turn {
  /** Before it answers, in milliseconds. */
  readonly ms?: number;
  /** How often it answers with 429, or `retryStatus`, first. */
  readonly retries?: number;
  readonly retryStatus?: number;
  /** Of an error in place of an answer. */
  readonly status?: number;
  readonly text?: string;
  readonly calls?: readonly { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }[];
}

/** What the program `fixtures/tape/agent.mjs` does. */
export interface Plan {
  /** Conversations that go on at the same time. */
  readonly agents: readonly (readonly Turn[])[];
  readonly stream?: boolean;
  /** Read from the server at the end. */
  readonly resource?: string;
  /** In base64, given by the user. */
  readonly image?: string;
  readonly prompt?: string;
  readonly describe?: string;
  readonly withoutTool?: string;
  readonly dropArgument?: string;
  readonly reversed?: boolean;
  readonly oneByOne?: boolean;
}

interface Asked {
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | readonly { readonly text?: string }[];
  }[];
  readonly stream?: boolean;
}

/** Speaks Chat Completions. */
export class PlannedProvider implements AsyncDisposable {
  readonly #server: Server;
  /** How often each turn of a conversation was asked for. */
  readonly #asked = new Map<string, number>();

  /** What sets its ids and texts apart from those of another one. */
  readonly #mark: string;

  private constructor(mark: string) {
    this.#mark = mark;
    this.#server = createServer((request, response) => {
      void (async () => {
        let text = '';
        for await (const chunk of request) text += chunk;
        await this.#answer(JSON.parse(text) as Asked, response);
      })();
    });
  }

  static async start(mark = ''): Promise<PlannedProvider> {
    const provider = new PlannedProvider(mark);
    await new Promise<void>((resolve) => provider.#server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer({ messages, stream }: Asked, response: ServerResponse): Promise<void> {
    const said = messages.find(({ role }) => role === 'user')?.content ?? '{}';
    // What comes with an image is a list of parts.
    const asText = typeof said === 'string' ? said : said.find((part) => part.text !== undefined)?.text;
    const { turns } = JSON.parse(asText ?? '{}') as { turns: Turn[] };
    const at = messages.filter(({ role }) => role === 'assistant').length;
    const turn = turns[at] ?? { text: 'end' };
    const key = JSON.stringify(messages);
    const count = this.#asked.get(key) ?? 0;
    this.#asked.set(key, count + 1);
    await sleep(turn.ms ?? 0, undefined, { ref: false });
    const status = count < (turn.retries ?? 0) ? (turn.retryStatus ?? 429) : turn.status;
    if (status !== undefined) {
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '5' });
      response.end(JSON.stringify({ error: { message: 'refused' } }));
      return;
    }
    const calls = turn.calls?.map(({ tool, args }, index) => ({
      index,
      id: `call_${at}_${index}${this.#mark}`,
      type: 'function',
      function: { name: tool, arguments: JSON.stringify(args) },
    }));
    const text = turn.text === undefined ? undefined : turn.text + this.#mark;
    const usage = { prompt_tokens: 10 + at, completion_tokens: 5, total_tokens: 15 + at };
    const finish = calls === undefined ? 'stop' : 'tool_calls';
    const common = { id: `chat-${at}`, created: 1_700_000_000, model: 'gpt-test-1' };
    const asked = calls === undefined ? {} : { tool_calls: calls };
    if (stream !== true) {
      const whole = calls?.map(({ index: _, ...call }) => call);
      const called = whole === undefined ? {} : { tool_calls: whole };
      const message = { role: 'assistant', content: text ?? null, refusal: null, ...called };
      response.writeHead(200, { 'content-type': 'application/json' });
      const choices = [{ index: 0, message, finish_reason: finish }];
      response.end(JSON.stringify({ ...common, object: 'chat.completion', choices, usage }));
      return;
    }
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      ...common,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason }],
    });
    const words = (text ?? '').split(/(?= )/).map((content) => chunk({ role: 'assistant', content }));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of sse([...words, chunk(asked), { ...chunk({}, finish), usage }, '[DONE]'])) {
      response.write(event);
      await sleep(1);
    }
    response.end();
  }
}
