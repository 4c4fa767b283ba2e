import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { API_OF_SDK_2, INSTALL_SDK, VERSION } from '../../base/index.ts';
import { FRAMEWORK_VERSIONS } from '../../instrumentation/index.ts';
import { CAPTURE_CONTENT_VARIABLE } from '../../processor/index.ts';
import { isDisabled } from './disabled.ts';
import { inRange, installedPackage } from './installed.ts';
import { externalInNext } from './next-build.ts';
import { SUPPORTED } from './self-check.ts';

export interface ModuleDiagnosis {
  readonly name: string;
  readonly version: string | undefined;
  readonly supported: string;
  /** By its files: whether the hook fires is seen when the application runs, see `reportHooks`. */
  readonly state: 'can be hooked' | 'bundled' | 'not installed' | 'version not supported';
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
  };
  readonly modules: readonly ModuleDiagnosis[];
  readonly problems: readonly Problem[];
}

const MCP_SDK = '@modelcontextprotocol/sdk';

/** Strings that occur only in the SDKs; in an entry file they show that a bundler has inlined an SDK. */
const BUNDLE_MARKS: readonly (readonly [string, string])[] = [
  ['openai', 'OpenAI-Organization'],
  ['@anthropic-ai/sdk', 'anthropic-dangerous-direct-browser-access'],
  ['@google/genai', 'generateContentParametersToMldev'],
  ['@aws-sdk/client-bedrock-runtime', 'AmazonBedrockFrontendService'],
  [MCP_SDK, 'notifications/roots/list_changed'],
];

const MAX_ENTRY_BYTES = 64 * 1024 * 1024;

/** Inspects an application's folder without running its code. */
export async function diagnose(about: {
  readonly folder: string;
  readonly entry?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}): Promise<Diagnosis> {
  const folder = resolve(about.folder);
  const sdks = await Promise.all(SUPPORTED.map((each) => diagnoseModule(folder, ...each)));
  const frameworks = await Promise.all(FRAMEWORK_VERSIONS.map((each) => diagnoseModule(folder, ...each)));
  const external = await externalInNext(folder);
  const entry = about.entry === undefined ? undefined : await readEntry(resolve(folder, about.entry));
  const modules = [...sdks, ...frameworks.filter(({ version }) => version !== undefined)].map((found) =>
    found.state === 'can be hooked' &&
    (external?.(found.name) === false || entry?.bundled.includes(found.name) === true)
      ? { ...found, state: 'bundled' as const }
      : found,
  );
  const api = await installedVersion(folder, '@opentelemetry/api');
  const sdk =
    (await installedVersion(folder, '@opentelemetry/sdk-trace')) ??
    (await installedVersion(folder, '@opentelemetry/sdk-trace-node'));
  const problems = [
    ...modules.filter(({ state }) => state === 'version not supported').map(unsupported),
    ...nextProblems(modules.filter(({ name }) => external?.(name) === false)),
    ...runtimeProblems(api, sdk),
    ...environmentProblems(about.env),
    ...(entry?.problems ?? []),
  ];
  const runtime = {
    mcp_observatory: VERSION,
    node: process.versions.node,
    opentelemetry_api: api,
    opentelemetry_sdk: sdk,
  };
  return { runtime, modules, problems };
}

async function diagnoseModule(folder: string, name: string, supported: string): Promise<ModuleDiagnosis> {
  const version = await installedVersion(folder, name);
  if (version === undefined) return { name, version, supported, state: 'not installed' };
  const state = inRange(version, supported) ? 'can be hooked' : 'version not supported';
  return { name, version, supported, state };
}

function unsupported({ name, version, supported }: ModuleDiagnosis): Problem {
  return {
    code: 'VERSION_NOT_SUPPORTED',
    message: `${name} ${version} is not traced; supported is ${supported}`,
  };
}

function runtimeProblems(api: string | undefined, sdk: string | undefined): Problem[] {
  const problems: Problem[] = [];
  if (api === undefined) {
    const isSdk2 = sdk === undefined || sdk.startsWith('2.');
    const name = isSdk2 ? API_OF_SDK_2 : '@opentelemetry/api';
    problems.push({ code: 'NO_API', message: `Run npm install ${name}` });
  }
  if (sdk === undefined) {
    problems.push({ code: 'NO_SDK', message: `No OpenTelemetry SDK is installed. Run ${INSTALL_SDK}` });
  }
  return problems;
}

const CAPTURE_WORDS = /^(?:true|false|span_only|event_only|span_and_event|no_content)?$/i;

function environmentProblems(env: Readonly<Record<string, string | undefined>>): Problem[] {
  const problems: Problem[] = [];
  const add = (code: string, message: string): void => void problems.push({ code, message });
  if (isDisabled(env)) add('SDK_DISABLED', 'OTEL_SDK_DISABLED=true switches all tracing off');
  if (!CAPTURE_WORDS.test(env[CAPTURE_CONTENT_VARIABLE]?.trim() ?? '')) {
    add(
      'BAD_VALUE',
      `${CAPTURE_CONTENT_VARIABLE} is neither true, false, SPAN_ONLY, SPAN_AND_EVENT, EVENT_ONLY nor NO_CONTENT`,
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

function nextProblems(modules: readonly ModuleDiagnosis[]): Problem[] {
  const names = modules.filter(({ state }) => state === 'bundled').map(({ name }) => name);
  if (names.length === 0) return [];
  const message = `Next.js bundles ${names.join(', ')}, where no hook reaches them. Write in next.config: export default withObservatory(config), and in instrumentation.ts: export { register } from 'mcp-observatory/next'`;
  return [{ code: 'BUNDLED', message }];
}

interface Entry {
  readonly bundled: readonly string[];
  readonly problems: readonly Problem[];
}

async function readEntry(entry: string): Promise<Entry> {
  let source: string;
  try {
    const { size } = await stat(entry);
    if (size > MAX_ENTRY_BYTES) return { bundled: [], problems: [] };
    source = await readFile(entry, 'utf8');
  } catch (error) {
    const message = `${entry} cannot be read: ${(error as Error).message}`;
    return { bundled: [], problems: [{ code: 'NO_ENTRY', message }] };
  }
  const bundled = BUNDLE_MARKS.filter(([, mark]) => source.includes(mark)).map(([name]) => name);
  const problems = bundled.map((name) => ({
    code: 'BUNDLED',
    message: `${name} is bundled into ${entry}, where no hook reaches it.${name === MCP_SDK ? BY_WIRE : ''} Mark it as external, or hand it to manuallyInstrument()`,
  }));
  return { bundled, problems };
}

const BY_WIRE =
  ' What a server gets and answers on stdin and stdout or over HTTP (not HTTP/2) is traced by register all the same; what a client sends is not.';

async function installedVersion(folder: string, name: string): Promise<string | undefined> {
  return (await installedPackage(folder, name))?.version;
}
