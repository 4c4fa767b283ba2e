import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gateCommand } from '../src/cli/gate.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { docTool, tempFile } from './support/policy-fixtures.ts';
import { runCommand } from './support/run-command.ts';

const docs = (name: string) =>
  readFileSync(join(new URL('../../docs', import.meta.url).pathname, name), 'utf8');
const testFile = (name: string) => new URL(`../../test/${name}.test.ts`, import.meta.url);
const fences = (text: string, language: string) =>
  [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)]
    .filter(([, kind]) => kind === language)
    .map(([, , body]) => body ?? '');

test('the commands of the quickstart print what it shows', async () => {
  const text = docs('policy-quickstart.md');
  const shells = fences(text, 'sh');
  const shown = fences(text, 'text');
  // The files it needs are those it says to write.
  const files = new Map(
    [...text.matchAll(/^echo '(.*)' > (\S+)$/gm)].map(([, body = '', name = '']) => [
      name,
      tempFile(name, JSON.parse(body)),
    ]),
  );
  const commands = shells.flatMap((shell) =>
    [
      ...shell.matchAll(/^(?:echo '(.*)' \|\n *)?mcp-observatory gate ((?:plan|evidence|explain)\b.*)$/gm),
    ].map(([, line, command = '']) => ({
      lines: line === undefined ? [] : [line],
      args: [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? ''),
    })),
  );
  assert.equal(commands.length, shown.length);
  for (const [index, { lines, args }] of commands.entries()) {
    const { stdout } = await runCommand(
      gateCommand,
      args.map((arg) => files.get(arg) ?? arg),
      lines,
    );
    assert.equal(stdout, shown[index]);
  }
});

test('the policy of the tool contracts loads against tools that fit it, and its tests pass', () => {
  const policy = JSON.parse(fences(docs('tool-contracts.md'), 'json')[0] ?? '');
  const search = {
    name: 'search_sharepoint',
    inputSchema: { type: 'object', properties: { query: { type: 'string' } } },
  };
  const send = {
    name: 'send_email',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } } },
  };
  const tools = {
    'mcp-sharepoint': { tools: [search, docTool('fetch_sharepoint_doc'), docTool('delete_sharepoint_doc')] },
    mail: { tools: [send] },
  };
  using gate = new PolicyGate({ policy, tools });
  assert.equal(gate.problem, undefined);
  const decide = (to: string, userRequest: string) =>
    gate.evaluate({ server: 'mail', tool: 'send_email', args: { to }, userRequest }).decision;
  assert.deepEqual(
    [
      decide('bob@example.com', 'Mail bob@example.com'),
      decide('bob@example.com', 'Mail Bob'),
      decide('bob@example.org', 'Mail bob@example.org'),
    ],
    ['allow', 'require_approval', 'deny'],
  );
});

test('each line of the OWASP list names tests that are there', () => {
  const rows = [...docs('owasp.md').matchAll(/^\| ASI\d\d .*$/gm)].map(([row]) => row.split(' | ')[2] ?? '');
  const names = rows.map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
  assert.deepEqual([rows.length, names.every((row) => row.length > 0)], [10, true]);
  assert.deepEqual(
    names.flat().filter((name) => !existsSync(testFile(name))),
    [],
  );
});
