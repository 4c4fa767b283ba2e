/** Drives one published server as its users do: list, pin, lint, a call behind the gate, record, replay, live tools. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gateCommand } from '../../src/cli/gate.ts';
import { fromGoldenInput, mcpGhost, readGolden } from '../../src/golden/index.ts';
import { PinStore, PolicyGate } from '../../src/policy/index.ts';
import { ROOT } from './consumer.ts';
import { tryGhost } from './ghost.ts';
import { OtlpCollector } from './otlp-collector.ts';
import { PATIENT } from './programs.ts';
import type { PublishedServer } from './published-servers.ts';
import { pythonWithPackages } from './python.ts';
import { runCommand } from './run-command.ts';

/** What became of each step, in counts and words. */
export interface Drive {
  readonly tools: number;
  readonly pinned: number;
  readonly lint: string;
  readonly call: string;
  readonly replay: string;
  readonly live: string;
  /** SERVER spans of the call, of the two times that it was made; undefined where none can be seen. */
  readonly spans: number | undefined;
  /** SERVER spans that have the connection and the id of another. */
  readonly twice: number;
}

const install = promisify(execFile);
const INSTALL_MS = 300_000;

/**
 * Installs all packages of npm in one folder, each once, unless they are there.
 * @returns why they cannot be: the registry is not to be reached.
 */
export async function installPublished(
  servers: readonly PublishedServer[],
  folder: string,
): Promise<string | undefined> {
  if (existsSync(join(folder, 'node_modules'))) return undefined;
  // Elsewhere npm would take another project for this one.
  assert.ok(isAbsolute(folder), folder);
  writeFileSync(join(folder, 'package.json'), '{"private": true}');
  const specs = servers.filter(({ from }) => from === 'npm').map(({ spec }) => spec);
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
  try {
    await install('npm', ['install', ...flags, ...specs], { cwd: folder, timeout: INSTALL_MS });
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(message))
      return 'the npm registry is not to be reached';
    throw error;
  }
}

const withFolder = (text: string, folder: string): string => text.replaceAll('FOLDER', folder);

/** The entry of the server's configuration, under `register` where it is a Node program. */
async function entryOf(server: PublishedServer, packages: string, folder: string, collector: OtlpCollector) {
  const args = (server.args ?? []).map((one) => withFolder(one, folder));
  const env = Object.fromEntries(
    Object.entries(server.env ?? {}).map(([name, value]) => [name, withFolder(value, folder)]),
  );
  if (server.from === 'pypi') {
    const program = server.spec.slice(0, server.spec.indexOf('='));
    return { command: join(dirname(await pythonWithPackages(server.packages)), program), args, env };
  }
  const name = server.spec.slice(0, server.spec.lastIndexOf('@'));
  const root = join(packages, 'node_modules', name);
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>;
  };
  const file = typeof bin === 'string' ? bin : (bin[server.bin ?? ''] ?? Object.values(bin)[0]);
  const register = pathToFileURL(join(ROOT, 'dist/lib/register.js')).href;
  const telemetry = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  };
  return {
    command: process.execPath,
    args: ['--import', register, join(root, file ?? ''), ...args],
    env: { HOME: folder, ...telemetry, ...PATIENT, ...env },
  };
}

export async function driveServer(server: PublishedServer, packages: string, folder: string): Promise<Drive> {
  await using collector = await OtlpCollector.start();
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(server.files ?? {})) writeFileSync(join(folder, name), text);
  const serverConfig = {
    mcpServers: { it: { ...(await entryOf(server, packages, folder, collector)), connect_timeout: 60 } },
  };
  const servers = join(folder, 'servers.json');
  writeFileSync(servers, JSON.stringify(serverConfig));
  const pins = join(folder, 'pins.json');
  const pin = await runCommand(
    gateCommand,
    ['pin', '--servers', servers, '--pins', pins, '--approve', 'all', '--json'],
    [],
    process.env,
  );
  const listed = (pin.rows[0]?.tools ?? []) as readonly { tool: string; status: string }[];
  const policy = join(folder, 'policy.json');
  writeFileSync(policy, JSON.stringify({ it: listed.map(({ tool }) => tool) }));
  const golden = join(folder, 'golden.json');
  const args = JSON.parse(withFolder(JSON.stringify(server.call.arguments), folder)) as Record<
    string,
    unknown
  >;
  const script = [{ calls: [{ name: `it__${server.call.name}`, arguments: args }] }, { text: 'Done.' }];
  const options = {
    gate: new PolicyGate({ policy, pins: PinStore.fromFile(pins) }),
    audit: false as const,
    enableBacktracking: false,
    // A busy machine needs longer than usual to send the last spans.
    connection: { closeTimeoutMs: 15_000 },
  };
  const { result } = await tryGhost('openai', script, {
    serverConfig,
    timeout: 60,
    golden: { mode: 'record', path: golden },
    ...options,
  });
  const [step] = result.toolChain;
  // A start of the server is what takes the time: the rules are held against the list that was recorded.
  const [connection] = (await readGolden(golden)).mcp_cassette?.servers.it?.connections ?? [];
  const lists = connection?.outcome === 'ready' ? connection.tool_lists : [];
  const tools = join(folder, 'tools.json');
  writeFileSync(tools, JSON.stringify({ it: { tools: lists[0] } }));
  const lint = await runCommand(gateCommand, ['lint', '--policy', policy, '--tools', tools], [], process.env);
  const again = async (tools: 'recorded' | 'live') => {
    const input = fromGoldenInput((await readGolden(golden)).input);
    const run = await mcpGhost({
      ...input,
      serverConfig,
      golden: { mode: 'replay', path: golden, tools },
      ...options,
    });
    return run.success && run.toolChain.length === 1 ? 'same' : JSON.stringify(run.errors);
  };
  const replay = await again('recorded').catch(String);
  const live = await again('live').catch(String);
  options.gate.close();
  const isCall = ({ name, kind }: { readonly name: string; readonly kind: string }) =>
    kind === 'SERVER' && name === `tools/call ${server.call.name}`;
  const isSeen = server.from === 'npm' && server.unseen === undefined;
  if (isSeen) await collector.until((spans) => spans.filter(isCall).length >= 2, 20_000).catch(() => {});
  // What is on its way at a sudden exit may be sent again, and some servers have spans of their own.
  const seen = [...new Map(collector.spans.map((span) => [span.spanId, span])).values()];
  const ours = seen.filter(({ scope }) => scope.startsWith('mcp-observatory/'));
  const requests = ours.filter(({ attributes }) => attributes['jsonrpc.request.id'] !== undefined);
  const ids = requests.map(
    ({ attributes }) => `${attributes['observatory.connection_id']} ${attributes['jsonrpc.request.id']}`,
  );
  return {
    tools: listed.length,
    pinned: listed.filter(({ status }) => status !== 'refused').length,
    lint: lint.code === 0 ? 'ok' : `${lint.stdout}${lint.stderr}`,
    call: `${step === undefined ? 'none' : step.success ? 'ok' : 'failed'} ${result.success}`,
    replay,
    live,
    spans: isSeen ? ours.filter(isCall).length : undefined,
    twice: ids.length - new Set(ids).size,
  };
}
