/** Claude Code, Codex and Gemini CLI themselves run the hook, with a stand-in for the model that wants to use the shell. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listen } from './support/http-server.ts';
import { tempDir } from './support/temp-dir.ts';

const MAIN = fileURLToPath(new URL('../lib/cli.js', import.meta.url));
/** A folder in which the three packages are installed: 700 MB, so that nothing fetches them unasked. */
const AGENTS = process.env.OBSERVATORY_AGENTS;
const skip = AGENTS === undefined && 'OBSERVATORY_AGENTS names no folder with the agents';

/** Events of an answer: the shell with this command, or an end. */
type Answer = (command: string | undefined) => readonly object[];

const anthropic: Answer = (command) => {
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const [block, delta] = command
    ? [
        { type: 'tool_use', id: 't', name: 'Bash', input: {} },
        { type: 'input_json_delta', partial_json: JSON.stringify({ command }) },
      ]
    : [
        { type: 'text', text: '' },
        { type: 'text_delta', text: 'done' },
      ];
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: command ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: 1 },
    },
    { type: 'message_stop' },
  ];
};

const openai: Answer = (command) => {
  const item = command
    ? {
        type: 'function_call',
        id: 'f',
        call_id: 'c',
        name: 'exec_command',
        arguments: JSON.stringify({ cmd: command }),
      }
    : {
        type: 'message',
        id: 'm',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'done', annotations: [] }],
      };
  const response = {
    id: 'r',
    status: 'completed',
    output: [item],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  };
  return [
    { type: 'response.created', response: { ...response, output: [] } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ];
};

const gemini: Answer = (command) => {
  const part = command
    ? { functionCall: { name: 'run_shell_command', args: { command } } }
    : { text: 'done' };
  return [{ candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }] }];
};

interface Agent {
  readonly client: string;
  readonly bin: string;
  readonly answer: Answer;
  /** Whether a request holds what became of the command. */
  readonly isAnswered: RegExp;
  readonly args: readonly string[];
  prepare?(home: string, url: string): void;
  env(url: string): Record<string, string>;
}

const LIST: readonly Agent[] = [
  {
    client: 'claude-code',
    bin: 'claude',
    answer: anthropic,
    isAnswered: /"tool_result"/,
    args: ['-p', 'go', '--allowedTools', 'Bash'],
    env: (url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'sk-ant-x',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
  },
  {
    client: 'codex',
    bin: 'codex',
    answer: openai,
    isAnswered: /"function_call_output"/,
    args: [
      'exec',
      '--skip-git-repo-check',
      '--dangerously-bypass-approvals-and-sandbox',
      '--dangerously-bypass-hook-trust',
      'go',
    ],
    prepare: (home, url) =>
      writeFileSync(
        join(home, '.codex/config.toml'),
        `model = "m"\nmodel_provider = "s"\n[model_providers.s]\nname = "s"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "KEY"\n`,
      ),
    env: () => ({ KEY: 'x' }),
  },
  {
    client: 'gemini-cli',
    bin: 'gemini',
    answer: gemini,
    isAnswered: /"functionResponse"/,
    args: ['-m', 'gemini-2.5-flash', '-p', 'go', '--approval-mode', 'yolo'],
    prepare: (home) => {
      const path = join(home, '.gemini/settings.json');
      const security = { auth: { selectedType: 'gemini-api-key' } };
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), security }));
    },
    env: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'x', GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
  },
];

for (const { client, bin, answer, isAnswered, args, prepare, env } of LIST)
  test(`${client} runs the hook before the shell, and does what it says`, { skip }, async () => {
    const [home, work] = [tempDir(), tempDir()];
    const policy = join(tempDir(), 'policy.json');
    const only = { program: { const: 'touch' } };
    const touch = {
      id: 't',
      effect: 'allow',
      server: 'shell',
      tool: 'run',
      args: only,
      required: ['program'],
    };
    const files = {
      id: 'f',
      effect: 'allow',
      server: 'files',
      tool: 'write',
      args: { path: { pathWithin: [work] } },
    };
    writeFileSync(policy, JSON.stringify({ version: 1, rules: [touch, { ...files, required: ['path'] }] }));
    let command = '';
    const log = join(tempDir(), 'log');
    const server = createServer(async (request, response) => {
      const body = await text(request);
      if (isAnswered.test(body)) appendFileSync(log, body);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const asks = /"tools"/.test(body) && !isAnswered.test(body);
      for (const event of answer(asks ? command : undefined)) {
        if ('type' in event) response.write(`event: ${String(event.type)}\n`);
        response.write(`data: ${JSON.stringify(event)}\n\n`);
      }
      response.end();
    });
    await using provider = await listen(server);
    const url = provider.origin;
    const base = { PATH: process.env.PATH ?? '', HOME: home, SAFE_TRACE_DIR: join(tempDir(), 'traces') };
    for (const folder of ['.claude', '.codex', '.gemini']) mkdirSync(join(home, folder));
    const install = [MAIN, 'hook', 'install', client, '--policy', policy, '--enforce'];
    assert.equal(spawnSync(process.execPath, install, { env: base }).status, 0);
    prepare?.(home, url);
    for (const [name, isMade] of [
      ['allowed', true],
      ['../denied', false],
    ] as const) {
      command = `touch ${name}`;
      const options = {
        cwd: work,
        env: { ...base, ...env(url) },
        stdio: 'ignore',
        timeout: 120_000,
      } as const;
      await once(spawn(join(AGENTS ?? '', 'node_modules/.bin', bin), args, options), 'exit');
      assert.equal(existsSync(join(work, name)), isMade, command);
    }
    assert.match(
      readFileSync(log, 'utf8'),
      /mcp-observatory: Rule f allows files\/write, not with these arguments/,
    );
  });
