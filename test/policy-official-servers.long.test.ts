/** The official servers behind the gate, each with a policy of a few lines: every tool called once. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { AuditLog, gateClient, PolicyDeniedError, PolicyGate } from '../src/policy/index.ts';
import { auditRecords } from './support/audit-records.ts';
import { npmServer } from './support/ghost.ts';
import { noPython, pythonWithPackages } from './support/python.ts';
import { tempDir } from './support/temp-dir.ts';

type Calls = readonly (readonly [tool: string, args: Record<string, unknown>])[];

interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
}

/**
 * Calls every tool once, in this order.
 * @returns the tools that did not do their work, with the reason
 */
async function useAll(server: string, { command, args, env }: Command, calls: Calls): Promise<string[]> {
  const client = new Client({ name: 'test', version: '1' });
  const path = `${dirname(command)}:${process.env.PATH}`;
  await client.connect(
    new StdioClientTransport({ command, args: [...args], stderr: 'ignore', env: { PATH: path, ...env } }),
  );
  await using _closing = { [Symbol.asyncDispose]: () => client.close() };
  const listed = (await client.listTools()).tools.map(({ name }) => name);
  assert.deepEqual(listed.sort(), [...new Set(calls.map(([name]) => name))].sort());
  const dir = tempDir();
  using audit = new AuditLog({ dir });
  using gate = new PolicyGate({ policy: { [server]: listed } });
  const gated = gateClient(client, gate, { server, audit: audit.startRun() });
  const refused: string[] = [];
  const failed: string[] = [];
  for (const [name, given] of calls) {
    try {
      const result = await gated.callTool({ name, arguments: given });
      if (result.isError === true) failed.push(`${name}: ${JSON.stringify(result.content)}`);
    } catch (error) {
      assert.ok(error instanceof PolicyDeniedError, `${name}: ${error}`);
      refused.push(`${name}: ${error.reasonCode}`);
    }
  }
  const records = auditRecords(dir);
  const started = records.filter(({ event }) => event === 'call_started').length;
  const ended = records.filter(({ event }) => event === 'call_finished').map(({ outcome }) => outcome);
  const withResult = ended.filter((outcome) => outcome === 'accepted');
  assert.equal(started, calls.length - refused.length, 'what is refused is refused before it is called');
  assert.equal(withResult.length, started - failed.length, 'every call that was made has its result');
  assert.deepEqual(gate.findings, []);
  return [...refused, ...failed];
}

test('server-sequential-thinking behind the gate, in each form of a thought', async () => {
  const thought = (thoughtNumber: number, rest: object = {}) => ({
    thought: `Thought ${thoughtNumber}: {"not": "json"}`,
    nextThoughtNeeded: true,
    thoughtNumber,
    totalThoughts: 3,
    ...rest,
  });
  const refused = await useAll('thinking', npmServer('sequential-thinking'), [
    ['sequentialthinking', thought(1)],
    ['sequentialthinking', thought(2, { isRevision: true, revisesThought: 1 })],
    ['sequentialthinking', thought(3, { branchFromThought: 1, branchId: 'b' })],
    ['sequentialthinking', thought(4, { needsMoreThoughts: true })],
    ['sequentialthinking', thought(5, { nextThoughtNeeded: false })],
  ]);
  assert.deepEqual(refused, []);
});

test('server-everything behind the gate', async () => {
  const refused = await useAll('everything', npmServer('everything', ['stdio']), [
    ['echo', { message: 'hi' }],
    ['get-annotated-message', { messageType: 'success', includeImage: true }],
    ['get-env', {}],
    ['get-resource-links', {}],
    ['get-resource-reference', { resourceType: 'Blob', resourceId: 2 }],
    ['get-structured-content', { location: 'Chicago' }],
    ['get-sum', { a: 1, b: 2 }],
    ['get-tiny-image', {}],
    ['gzip-file-as-resource', { name: 'a.txt', data: 'data:text/plain,hello' }],
    ['toggle-simulated-logging', {}],
    ['toggle-subscriber-updates', {}],
    ['trigger-long-running-operation', { duration: 0.1, steps: 1 }],
    ['simulate-research-query', { topic: 'x' }],
  ]);
  // It runs only as a task, and says so without doing anything.
  assert.equal(refused.length, 1);
  assert.match(refused[0] ?? '', /simulate-research-query: .*requires task augmentation/);
});

test('server-filesystem behind the gate', async () => {
  const dir = realpathSync(tempDir());
  const at = (name: string) => join(dir, name);
  writeFileSync(at('a.txt'), 'one\n');
  writeFileSync(at('a.png'), Buffer.from('iVBORw0KGgo=', 'base64'));
  const refused = await useAll('filesystem', npmServer('filesystem', [dir]), [
    ['read_file', { path: at('a.txt') }],
    ['read_text_file', { path: at('a.txt') }],
    ['read_media_file', { path: at('a.png') }],
    ['read_multiple_files', { paths: [at('a.txt')] }],
    ['write_file', { path: at('b.txt'), content: 'two\n' }],
    ['edit_file', { path: at('b.txt'), edits: [{ oldText: 'two', newText: 'three' }] }],
    ['create_directory', { path: at('sub') }],
    ['list_directory', { path: dir }],
    ['list_directory_with_sizes', { path: dir }],
    ['directory_tree', { path: dir }],
    ['move_file', { source: at('b.txt'), destination: at('c.txt') }],
    ['search_files', { path: dir, pattern: '*.txt' }],
    ['get_file_info', { path: at('c.txt') }],
    ['list_allowed_directories', {}],
  ]);
  assert.deepEqual(refused, []);
});

test('server-memory behind the gate', async () => {
  const entity = { name: 'Ada', entityType: 'person', observations: ['likes tea'] };
  const relation = { from: 'Ada', to: 'Bob', relationType: 'knows' };
  const env = { MEMORY_FILE_PATH: join(tempDir(), 'memory.jsonl') };
  const refused = await useAll('memory', npmServer('memory', [], env), [
    ['create_entities', { entities: [entity, { ...entity, name: 'Bob' }] }],
    ['create_relations', { relations: [relation] }],
    ['add_observations', { observations: [{ entityName: 'Ada', contents: ['likes cake'] }] }],
    ['read_graph', {}],
    ['search_nodes', { query: 'tea' }],
    ['open_nodes', { names: ['Ada'] }],
    ['delete_observations', { deletions: [{ entityName: 'Ada', observations: ['likes tea'] }] }],
    ['delete_relations', { relations: [relation] }],
    ['delete_entities', { entityNames: ['Bob'] }],
  ]);
  assert.deepEqual(refused, []);
});

async function pythonServer(name: string, args: readonly string[] = []): Promise<Command> {
  return { command: await pythonWithPackages(), args: ['-m', `mcp_server_${name}`, ...args] };
}

test('the git server behind the gate', { skip: noPython() }, async () => {
  const repo_path = join(tempDir(), 'repo');
  mkdirSync(repo_path);
  const git = (...args: string[]) => execFileSync('git', ['-C', repo_path, ...args], { stdio: 'ignore' });
  git('init', '-b', 'main');
  git('config', 'user.email', 'a@b.example');
  git('config', 'user.name', 'A');
  writeFileSync(join(repo_path, 'a.txt'), 'one\n');
  git('add', '.');
  git('commit', '-m', 'first');
  writeFileSync(join(repo_path, 'a.txt'), 'two\n');
  const refused = await useAll('git', await pythonServer('git'), [
    ['git_status', { repo_path }],
    ['git_diff_unstaged', { repo_path }],
    ['git_add', { repo_path, files: ['a.txt'] }],
    ['git_diff_staged', { repo_path }],
    ['git_reset', { repo_path }],
    ['git_add', { repo_path, files: ['a.txt'] }],
    ['git_commit', { repo_path, message: 'second' }],
    ['git_log', { repo_path }],
    ['git_show', { repo_path, revision: 'HEAD' }],
    ['git_create_branch', { repo_path, branch_name: 'other' }],
    ['git_checkout', { repo_path, branch_name: 'other' }],
    ['git_branch', { repo_path, branch_type: 'local' }],
    ['git_diff', { repo_path, target: 'HEAD~1' }],
  ]);
  assert.deepEqual(refused, []);
});

test('the time server behind the gate', { skip: noPython() }, async () => {
  const zones = { source_timezone: 'UTC', target_timezone: 'Asia/Tokyo' };
  const refused = await useAll('time', await pythonServer('time'), [
    ['get_current_time', { timezone: 'UTC' }],
    ['convert_time', { ...zones, time: '12:00' }],
  ]);
  assert.deepEqual(refused, []);
});

test('the fetch server behind the gate', { skip: noPython() }, async () => {
  const pages = createServer((_request, response) => {
    response.setHeader('content-type', 'text/plain');
    response.end('User-agent: *\nAllow: /\n');
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  await using _closing = {
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => pages.close(() => resolve())),
  };
  const { port } = pages.address() as AddressInfo;
  const refused = await useAll('fetch', await pythonServer('fetch', ['--allow-private-ips']), [
    ['fetch', { url: `http://127.0.0.1:${port}/page` }],
  ]);
  assert.deepEqual(refused, []);
});
