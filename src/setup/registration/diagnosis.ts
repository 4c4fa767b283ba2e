import { readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { VERSION } from '../../base/index.ts';
import { ANTHROPIC_VERSIONS, GOOGLE_GENAI_VERSIONS, OPENAI_VERSIONS } from '../../instrumentation/index.ts';
import { hookCopies } from './self-check.ts';

export interface ModuleDiagnosis {
  readonly name: string;
  readonly version: string | undefined;
  readonly supported: string;
  readonly state: 'hooked' | 'not installed' | 'version not supported';
}

export interface Problem {
  readonly code: string;
  readonly message: string;
}

/** Findings of `doctor`, in the words of its JSON output. */
export interface Diagnosis {
  readonly runtime: {
    readonly mcp_observatory: string;
    readonly node: string;
    readonly opentelemetry_api: string | undefined;
    readonly opentelemetry_sdk: string | undefined;
    readonly hook_copies: readonly string[];
  };
  readonly modules: readonly ModuleDiagnosis[];
  readonly problems: readonly Problem[];
}

const SUPPORTED: readonly (readonly [string, string])[] = [
  ['openai', OPENAI_VERSIONS],
  ['@anthropic-ai/sdk', ANTHROPIC_VERSIONS],
  ['@google/genai', GOOGLE_GENAI_VERSIONS],
  ['@modelcontextprotocol/sdk', '>=1.9.0 <2'],
  ['@modelcontextprotocol/client', '>=2 <3'],
  ['@modelcontextprotocol/server', '>=2 <3'],
];

/** Strings that occur only in the SDKs; in an entry file they show that a bundler has inlined an SDK. */
const BUNDLE_MARKS: readonly (readonly [string, string])[] = [
  ['openai', 'OpenAI-Organization'],
  ['@anthropic-ai/sdk', 'anthropic-dangerous-direct-browser-access'],
  ['@google/genai', 'generateContentParametersToMldev'],
  ['@modelcontextprotocol/sdk', 'notifications/roots/list_changed'],
];

const MAX_ENTRY_BYTES = 64 * 1024 * 1024;

/** Inspects an application's folder without running its code. */
export async function diagnose(about: {
  readonly folder: string;
  readonly entry?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}): Promise<Diagnosis> {
  const folder = resolve(about.folder);
  const versions = await Promise.all(SUPPORTED.map(([name]) => installedVersion(folder, name)));
  const modules = SUPPORTED.map(([name, supported], index): ModuleDiagnosis => {
    const version = versions[index];
    if (version === undefined) return { name, version, supported, state: 'not installed' };
    return {
      name,
      version,
      supported,
      state: inRange(version, supported) ? 'hooked' : 'version not supported',
    };
  });
  const copies = hookCopies(folder);
  const api = await installedVersion(folder, '@opentelemetry/api');
  const sdk =
    (await installedVersion(folder, '@opentelemetry/sdk-trace')) ??
    (await installedVersion(folder, '@opentelemetry/sdk-trace-node'));
  const problems = [
    ...modules.filter(({ state }) => state === 'version not supported').map(unsupported),
    ...runtimeProblems(api, sdk, copies),
    ...environmentProblems(about.env),
    ...(about.entry === undefined ? [] : await bundled(resolve(folder, about.entry))),
  ];
  const runtime = {
    mcp_observatory: VERSION,
    node: process.versions.node,
    opentelemetry_api: api,
    opentelemetry_sdk: sdk,
    hook_copies: copies,
  };
  return { runtime, modules, problems };
}

function unsupported({ name, version, supported }: ModuleDiagnosis): Problem {
  return {
    code: 'VERSION_NOT_SUPPORTED',
    message: `${name} ${version} is not traced; supported is ${supported}`,
  };
}

function runtimeProblems(
  api: string | undefined,
  sdk: string | undefined,
  copies: readonly string[],
): Problem[] {
  const problems: Problem[] = [];
  if (api === undefined) {
    problems.push({ code: 'NO_API', message: 'Run npm install @opentelemetry/api' });
  }
  if (sdk === undefined) {
    const install =
      'npm install @opentelemetry/sdk-trace-node@^2.12.0 @opentelemetry/exporter-trace-otlp-http@^0.223.0';
    problems.push({ code: 'NO_SDK', message: `No OpenTelemetry SDK is installed. Run ${install}` });
  }
  if (copies.length > 1) {
    const which = copies.join(', ');
    problems.push({
      code: 'TWO_HOOKS',
      message: `Only the first of these hooks ES modules: ${which}. Run npm dedupe import-in-the-middle`,
    });
  }
  return problems;
}

const CAPTURE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';
const CAPTURE_WORDS = /^(?:true|false|span_only|event_only|span_and_event|no_content)?$/i;

function environmentProblems(env: Readonly<Record<string, string | undefined>>): Problem[] {
  const problems: Problem[] = [];
  const add = (code: string, message: string): void => void problems.push({ code, message });
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') {
    add('SDK_DISABLED', 'OTEL_SDK_DISABLED=true switches all tracing off');
  }
  if (!CAPTURE_WORDS.test(env[CAPTURE]?.trim() ?? '')) {
    add(
      'BAD_VALUE',
      `${CAPTURE} is neither true, false, SPAN_ONLY, SPAN_AND_EVENT, EVENT_ONLY nor NO_CONTENT`,
    );
  }
  for (const name of ['OTEL_TRACES_EXPORTER', 'OTEL_METRICS_EXPORTER']) {
    const exporter = env[name]?.trim() ?? '';
    if (/^(?:otlp|none)?$/.test(exporter)) continue;
    add('BAD_VALUE', `${name}=${exporter} is not supported by register; use otlp or none`);
  }
  const propagators = env.OTEL_PROPAGATORS?.trim() ?? '';
  if (!/^(?:(?:tracecontext|baggage|none)(?:\s*,\s*|$))*$/i.test(propagators)) {
    add(
      'BAD_VALUE',
      `OTEL_PROPAGATORS=${propagators} is not supported by register; use tracecontext, baggage or none`,
    );
  }
  for (const signal of ['', 'TRACES_', 'METRICS_']) {
    const name = `OTEL_EXPORTER_OTLP_${signal}PROTOCOL`;
    const protocol = env[name]?.trim() ?? '';
    if (/^(?:http\/json|http\/protobuf)?$/.test(protocol)) continue;
    add('BAD_VALUE', `${name}=${protocol} is not supported by register; use http/json or http/protobuf`);
  }
  return problems;
}

async function bundled(entry: string): Promise<Problem[]> {
  let source: string;
  try {
    const { size } = await stat(entry);
    if (size > MAX_ENTRY_BYTES) return [];
    source = await readFile(entry, 'utf8');
  } catch (error) {
    return [{ code: 'NO_ENTRY', message: `${entry} cannot be read: ${(error as Error).message}` }];
  }
  return BUNDLE_MARKS.filter(([, mark]) => source.includes(mark)).map(([name]) => ({
    code: 'BUNDLED',
    message: `${name} is bundled into ${entry}, where no hook reaches it. Mark it as external, or hand it to manuallyInstrument()`,
  }));
}

/** The version of the package the application would load. Its manifest is read from disk, as it may not be exported. */
async function installedVersion(folder: string, name: string): Promise<string | undefined> {
  const require = createRequire(join(folder, 'package.json'));
  for (const nodeModules of require.resolve.paths(name) ?? []) {
    try {
      const manifest = JSON.parse(await readFile(join(nodeModules, name, 'package.json'), 'utf8')) as unknown;
      const version = (manifest as { version?: unknown }).version;
      if (typeof version === 'string') return version;
    } catch {
      if (nodeModules === dirname(nodeModules)) return undefined;
    }
  }
  return undefined;
}

/** Whether a version is in a range such as `>=1.2.0 <2`; other range syntax is not supported. */
export function inRange(version: string, range: string): boolean {
  return range.split(' ').every((bound) => {
    const match = /^(>=|<)(.+)$/.exec(bound);
    if (match === null) throw new RangeError(`Expected a bound such as >=1.2.0 or <2, got '${bound}'`);
    const order = compare(version, match[2] ?? '');
    return match[1] === '<' ? order < 0 : order >= 0;
  });
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => (text.split('-')[0] ?? '').split('.').map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
