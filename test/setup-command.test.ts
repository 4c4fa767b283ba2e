/** `setup`: what it writes for each kind of program and coding agent, and that `--undo` restores every byte. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setupCommand } from '../src/cli/setup/index.ts';
import { runCommand } from './support/run-command.ts';
import { tempDir } from './support/temp-dir.ts';

const write = (folder: string, files: Readonly<Record<string, string>>) => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
};
const read = (folder: string, name: string) =>
  existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : undefined;
const INSTALLED = [
  'mcp-observatory',
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/exporter-trace-otlp-http',
].map((name) => [`node_modules/${name}/package.json`, '{"version":"2.0.0"}'] as const);
const setup = (folder: string, ...flags: string[]) => {
  write(folder, Object.fromEntries(INSTALLED));
  return runCommand(setupCommand, ['--folder', folder, '--no-run', ...flags], [], { HOME: folder });
};

/** What a folder holds, and what its files become. */
const CASES: Readonly<Record<string, readonly [Record<string, string>, Record<string, string>]>> = {
  'scripts keep their own form': [
    {
      'package.json':
        '{ "name": "a", "files": ["x", "y"],\n\t"scripts": {"start":"node app.js", "dev": "tsx watch src/a.ts", "build": "node b.js"}}',
    },
    {
      'package.json':
        '{ "name": "a", "files": ["x", "y"],\n\t"scripts": {"start":"node --import mcp-observatory/register app.js", "dev": "tsx watch --import mcp-observatory/register src/a.ts", "build": "node b.js"}}',
    },
  ],
  'builds, assignments and wrappers before the program': [
    {
      'package.json':
        '{"scripts":{"start":"tsc && NODE_ENV=production cross-env A=1 node dist/main","start:dev":"nest start --watch","serve":"nodemon app.js"}}',
    },
    {
      'package.json':
        '{"scripts":{"start":"tsc && NODE_ENV=production cross-env A=1 node --import mcp-observatory/register dist/main","start:dev":"nest start --exec \\"node --import mcp-observatory/register\\" --watch","serve":"nodemon --exec \\"node --import mcp-observatory/register\\" app.js"}}',
    },
  ],
  'programs of Bun, and flags before the name of one': [
    {
      'package.json':
        '{"scripts":{"start":"A=\'x y\' bun run app.ts","start:b":"bun --watch run b.ts","dev":"bun run build"}}',
    },
    {
      'package.json':
        '{"scripts":{"start":"A=\'x y\' bun --preload=mcp-observatory/register run app.ts","start:b":"bun --preload=mcp-observatory/register --watch run b.ts","dev":"bun run build"}}',
    },
  ],
  'tools of packages that start the program': [
    {
      'package.json':
        '{"scripts":{"start":"A=1 serve-it ./build","dev":"npx linked-it","start:b":"NODE_OPTIONS=-x serve-it","start:c":"native-it","start:d":"shell-it","serve":"other"}}',
      'node_modules/.bin/serve-it': '#!/usr/bin/env -S node --x\n',
      'node_modules/.bin/linked-it':
        '#!/bin/sh\nexport NODE_PATH="/node/modules"\n  exec node  "$basedir/../linked-it/main.js" "$@"\n',
      'node_modules/.bin/native-it': '\x7fELF node',
      'node_modules/.bin/shell-it': '#!/bin/sh\nexport NODE_PATH="/node/modules"\n"$basedir/../it" "$@"\n',
    },
    {
      'package.json':
        '{"scripts":{"start":"NODE_OPTIONS=\'--import mcp-observatory/register\' A=1 serve-it ./build","dev":"NODE_OPTIONS=\'--import mcp-observatory/register\' npx linked-it","start:b":"NODE_OPTIONS=-x serve-it","start:c":"native-it","start:d":"shell-it","serve":"other"}}',
    },
  ],
  'tools beside a program of their own folder': [
    {
      'package.json': '{"scripts":{"start":"node app.js","dev":"compile-it --watch"}}',
      'node_modules/.bin/compile-it': '#!/usr/bin/env node\n',
    },
    {
      'package.json':
        '{"scripts":{"start":"node --import mcp-observatory/register app.js","dev":"compile-it --watch"}}',
    },
  ],
  'a program without a script, and the servers that clients start': [
    {
      'package.json': '{\n  "main": "main.cjs"\n}\n',
      'main.cjs': '',
      '.mcp.json': '{"mcpServers":{"own":{"command":"node","args":["main.cjs"]},"other":{"command":"npx"}}}',
    },
    {
      'package.json':
        '{\n  "main": "main.cjs",\n  "scripts": {\n    "start": "node --import mcp-observatory/register main.cjs"\n  }\n}\n',
      '.mcp.json': `${JSON.stringify(
        {
          mcpServers: {
            own: { command: 'node', args: ['--import', 'mcp-observatory/register', 'main.cjs'] },
            other: { command: 'npx' },
          },
        },
        null,
        2,
      )}`,
    },
  ],
  'Next.js with a configuration that is a name': [
    {
      'package.json': '{"dependencies":{"next":"16"},"scripts":{"dev":"next dev"}}',
      'next.config.ts': 'const config = { reactStrictMode: true };\n\nexport default config;\n',
      'tsconfig.json': '{}',
      'src/app/page.tsx': '',
    },
    {
      'next.config.ts':
        "import { withObservatory } from 'mcp-observatory/next';\nconst config = { reactStrictMode: true };\n\nexport default withObservatory(config);\n",
      'src/instrumentation.ts': "export { register } from 'mcp-observatory/next';\n",
    },
  ],
  'Next.js with a configuration in CommonJS and a register of its own': [
    {
      'package.json': '{"dependencies":{"next":"15"}}',
      'next.config.js': 'module.exports = {\n  output: "standalone",\n};\n',
      'instrumentation.js': 'export async function register() {\n  own();\n}\n',
    },
    {
      'next.config.js':
        'const configOfApplication = {\n  output: "standalone",\n};\nmodule.exports = require(\'mcp-observatory/next\').withObservatory(configOfApplication);\n',
      'instrumentation.js':
        "export async function register() {\n  await (await import('mcp-observatory/next')).register();\n  own();\n}\n",
    },
  ],
};

for (const [name, [before, after]] of Object.entries(CASES)) {
  test(`setup writes what is needed, once, and undoes it: ${name}`, async () => {
    const folder = tempDir();
    write(folder, before);
    const check = (expected: Readonly<Record<string, string>>) => {
      for (const file of Object.keys({ ...before, ...after }))
        assert.equal(read(folder, file), expected[file], file);
    };
    const dry = await setup(folder, '--dry-run');
    assert.match(dry.stdout, /^ {2}\+.*mcp-observatory/m);
    check(before);
    await setup(folder);
    check({ ...before, ...after });
    await setup(folder);
    check({ ...before, ...after });
    const undone = await setup(folder, '--undo');
    assert.equal(undone.code, 0, undone.stdout);
    check(before);
  });
}

test('setup restores no file that was changed since, and says so', async () => {
  const folder = tempDir();
  write(folder, { 'package.json': '{"scripts":{"start":"node ."}}', 'index.js': '' });
  await setup(folder);
  const changed = `${read(folder, 'package.json')}\n`;
  write(folder, { 'package.json': changed });
  const { code, stdout } = await setup(folder, '--undo');
  assert.equal(code, 1);
  assert.match(stdout, /package\.json was changed since/);
  assert.equal(read(folder, 'package.json'), changed);
});

test('setup writes nothing through a link that leads out of the folder, and follows one to the folder', async () => {
  const [folder, elsewhere] = [tempDir(), tempDir()];
  const text = '{"scripts":{"start":"node app.js"}}';
  write(elsewhere, { 'package.json': text });
  symlinkSync(join(elsewhere, 'package.json'), join(folder, 'package.json'));
  await assert.rejects(setup(folder), { code: 'INVALID_OPTION' });
  assert.equal(read(elsewhere, 'package.json'), text);
  symlinkSync(elsewhere, join(folder, 'link'));
  await setup(join(folder, 'link'));
  assert.match(read(elsewhere, 'package.json') ?? '', /mcp-observatory/);
  await setup(join(folder, 'link'), '--undo');
  assert.equal(read(elsewhere, 'package.json'), text);
});

const BACKUP = '.before-mcp-observatory-setup';
const toBackup = (before: string, after: string) =>
  JSON.stringify({
    before: Buffer.from(before).toString('base64'),
    after: Buffer.from(after).toString('base64'),
  });

test('setup writes no new file through a link to a folder, and an undo leaves links as they are', async () => {
  const [folder, elsewhere] = [tempDir(), tempDir()];
  write(folder, { 'package.json': '{"dependencies":{"next":"16"}}' });
  mkdirSync(join(elsewhere, 'app'));
  symlinkSync(elsewhere, join(folder, 'src'));
  await assert.rejects(setup(folder), { code: 'INVALID_OPTION' });
  assert.deepEqual(readdirSync(elsewhere), ['app']);
  write(elsewhere, { lock: 'new', [`b.json${BACKUP}`]: toBackup('old', 'new'), 'b.json': 'new' });
  symlinkSync(join(elsewhere, 'lock'), join(folder, 'package-lock.json'));
  write(folder, { [`package-lock.json${BACKUP}`]: toBackup('old', 'new'), [BACKUP]: toBackup('', '') });
  assert.equal((await setup(folder, '--undo')).code, 0);
  assert.ok(lstatSync(join(folder, 'package-lock.json')).isSymbolicLink());
  assert.deepEqual([read(elsewhere, 'lock'), read(elsewhere, 'b.json')], ['old', 'new']);
});

test('a set-up that was ended before it wrote a file leaves nothing to undo', async () => {
  const folder = tempDir();
  write(folder, { 'package.json': '{}', [`package.json${BACKUP}`]: toBackup('{}', '{ }') });
  const { code, stdout } = await setup(folder, '--undo');
  assert.equal(code, 0, stdout);
  assert.deepEqual(readdirSync(folder), ['node_modules', 'package.json']);
});

test('setup prints no key that a file holds, and says that a backup holds it', async () => {
  const folder = tempDir();
  const key = ['ghp', '_R8vKq2LmXw7TbZ4nYc1PdFh6JsGa9UeVo3Ki'].join('');
  write(folder, {
    'package.json': '{"scripts":{"start":"node a.js"}}',
    'a.js': '',
    '.mcp.json': `{"mcpServers":{"a":{"command":"node","args":["a.js"],"env":{"KEY":"${key}"}}}}`,
  });
  const { stdout } = await setup(folder);
  assert.match(read(folder, '.mcp.json') ?? '', new RegExp(`mcp-observatory[^]*${key}`));
  assert.ok(!stdout.includes(key), stdout);
  assert.match(stdout, /do not commit/);
});

test('nothing is written where its user has to install first, and what is missing is said', async () => {
  const root = tempDir();
  write(root, { 'package.json': '{"workspaces":["a"]}', 'a/package.json': '{"scripts":{"start":"node ."}}' });
  const { stdout } = await runCommand(setupCommand, ['--folder', join(root, 'a'), '--no-run'], [], {
    HOME: root,
  });
  assert.match(stdout, /lock file is in a folder above.*\nNothing is written/);
  assert.deepEqual([...readdirSync(root), ...readdirSync(join(root, 'a'))].sort(), [
    'a',
    'package.json',
    'package.json',
  ]);
  const alone = tempDir();
  write(alone, { 'package.json': '{"scripts":{"start":"node ."}}' });
  const args = ['--folder', alone, '--no-install'];
  const { code, stdout: said } = await runCommand(setupCommand, args, [], { HOME: root });
  assert.equal(code, 1);
  assert.match(said, /\nInstall what is missing.*: npm install mcp-observatory@\S+ .*\nNothing is written\n/);
  assert.deepEqual(readdirSync(alone), ['package.json']);
  await assert.rejects(setup(root), /root of a workspace.*Run setup in the folder of the program/);
});

test('settings keep their line ends, and what is no file of its own is not replaced', async () => {
  const home = tempDir();
  const file = join(home, '.claude/settings.json');
  write(home, { '.claude/settings.json': '{\r\n  "a": 1\r\n}\r\n' });
  await setup(home, 'claude-code');
  assert.doesNotMatch(readFileSync(file, 'utf8'), /[^\r]\n/);
  await setup(home, 'claude-code', '--undo');
  linkSync(file, join(home, 'other.json'));
  await assert.rejects(setup(home, 'claude-code'), /another name/);
  const pipe = join(home, '.gemini/settings.json');
  mkdirSync(dirname(pipe));
  execFileSync('mkfifo', [pipe]);
  await assert.rejects(setup(home, 'gemini-cli'), /no file of text/);
});

test('settings stay the file of their user when root sets them up', {
  skip: process.getuid?.() !== 0 && 'not root',
}, async () => {
  const [uid, home] = [65_534, tempDir()];
  const file = join(home, '.claude/settings.json');
  write(home, { '.claude/settings.json': '{}' });
  chmodSync(file, 0o600);
  chownSync(file, uid, uid);
  chownSync(home, uid, uid);
  await setup(home, 'claude-code', 'gemini-cli');
  for (const path of [file, `${file}${BACKUP}`, join(home, '.gemini'), join(home, '.gemini/settings.json')])
    assert.deepEqual([statSync(path).uid, statSync(path).gid], [uid, uid], path);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('setup says what to write where it cannot', async () => {
  const folder = tempDir();
  write(folder, { 'package.json': '{"scripts":{"start":"python app.py"}}' });
  assert.match((await setup(folder)).stdout, /start script 'python app\.py' starts nothing that is known/);
  write(folder, { 'package.json': '{"scripts":{"build":"vite build","dev":"vite dev"}}' });
  assert.match((await setup(folder)).stdout, /dev script 'vite dev' starts nothing that is known/);
  const ofFunction = '{"devDependencies":{"@types/aws-lambda":"8"}}';
  write(folder, { 'package.json': ofFunction, 'index.mjs': 'export const handler = () => {};' });
  const { stdout } = await setup(folder);
  assert.match(stdout, /AWS Lambda\n(?:.*\n)*Set NODE_OPTIONS='--import .* of the function/);
  assert.equal(read(folder, 'package.json'), ofFunction);
  write(folder, {
    'package.json': '{"dependencies":{"next":"16"}}',
    'next.config.mjs': 'export { a as default };',
  });
  assert.match(
    (await setup(folder)).stdout,
    /next\.config\.mjs is not understood\. Write in it: export default/,
  );
});

test('the settings of a named client are completed, never replaced, and restored', async () => {
  const settings: Readonly<Record<string, readonly [string, string | undefined, RegExp]>> = {
    'claude-code': [
      '.claude/settings.json',
      '{"model": "x", "env": {"A": "1"}}',
      /"A": "1",\n +"CLAUDE_CODE/,
    ],
    codex: ['.codex/config.toml', 'model = "x"', /^model = "x"\n\n\[otel\]\nexporter = /],
    'gemini-cli': ['.gemini/settings.json', undefined, /"otlpEndpoint": "http:\/\/127\.0\.0\.1:4317"/],
    'vs-code': ['.vscode/settings.json', '{}', /"github\.copilot\.chat\.otel\.enabled": true/],
  };
  for (const [client, [file, before, written]] of Object.entries(settings)) {
    const folder = tempDir();
    if (before !== undefined) write(folder, { [file]: before });
    await setup(folder, client);
    assert.match(read(folder, file) ?? '', written, client);
    assert.match((await setup(folder, client)).stdout, /set up already/);
    await setup(folder, client, '--undo');
    assert.equal(read(folder, file), before, client);
  }
  const refused: Readonly<Record<string, readonly [string, string]>> = {
    'claude-code': ['.claude/settings.json', '{"env":{"OTEL_EXPORTER_OTLP_ENDPOINT":"https://own"}}'],
    codex: ['.codex/config.toml', '[otel]\nenvironment = "x"\n'],
    'vs-code': ['.vscode/settings.json', '{ // mine\n}'],
    cursor: ['.cursor/mcp.json', '{}'],
  };
  for (const [client, [file, text]] of Object.entries(refused)) {
    const folder = tempDir();
    write(folder, { [file]: text });
    await assert.rejects(setup(folder, client), { code: 'INVALID_OPTION' }, client);
    assert.equal(read(folder, file), text);
  }
});
