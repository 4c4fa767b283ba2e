/** Applications as strangers have them: how each is started without us and with us, asked, and what that must store. */

/** How it is asked: over HTTP, as a function of AWS Lambda, on stdin as an MCP server, or not at all. */
type Asked = 'over http' | 'as a function' | 'on stdin' | 'by itself';

export interface SetUp {
  readonly name: string;
  /** Its `start` script, to which `setup` adds us. */
  readonly start: string;
  /** What is started with us, where `setup` does not write it. */
  readonly withUs?: string;
  readonly asked: Asked;
  /** Of each request. @defaultValue GET */
  readonly path?: string;
  readonly method?: 'POST';
  /** Commands before the first start, of what is without us and with us. */
  readonly build?: string;
  /** A folder of `fixtures` that it is, and shares with others of its kind. @defaultValue a folder of its own */
  readonly fixture?: string;
  /** Spans of what it asks without waiting: whether they end before the program does is chance, without us too. */
  readonly aside?: RegExp;
  /** Of each request: calls of a model, those of them that fail, calls of a tool. */
  readonly calls: readonly [models: number, failed: number, tools: number];
  /** The end of what we say on stderr beside OpenInference, which loads what it instruments, where it comes first. */
  readonly says?: string;
  /** With us it sends to a collector, which stores; else it stores itself. */
  readonly sends?: true;
  /** Whether it runs beside others. @defaultValue alone */
  readonly peers?: readonly Peer[];
}

/** What of ours beside others has no parent: the failed call is below a span of OpenInference's, which it never ends. */
export const ORPHANS: Readonly<Partial<Record<Peer, RegExp>>> = { openinference: /^\? > chat broken/ };

/** Of `fixtures/wild/sdks.cjs`. */
export type Peer = 'none' | 'node-sdk' | 'sentry' | 'openinference';

export const ALL: readonly Peer[] = ['none', 'node-sdk', 'sentry', 'openinference'];
export const REQUESTS = 3;

/** As OpenTelemetry tells of ES modules, and as CommonJS has it. */
const PRELOAD = '--import ./preload-hooked.mjs';
const HOOKED = '--experimental-loader=@opentelemetry/instrumentation/hook.mjs --import ./preload.mjs';
const REGISTER = '--import mcp-observatory/register';
/** With what esbuild wants of every ES module that has dependencies in CommonJS. */
const BANNER =
  "import { createRequire as forBundle } from 'node:module'; const require = forBundle(import.meta.url);";
const BUNDLE = `esbuild --bundle --platform=node --format=esm --log-level=warning "--banner:js=${BANNER}" --outfile=`;

/** A Worker has no environment but what it is given. */
const GIVEN = ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
const FLAGS = '--compatibility-date 2026-05-01 --compatibility-flags nodejs_compat --log-level error';
/** Several start at a time, and each would look for the first free port from 9229 on: the system gives one. */
const NO_FIXED_PORT = '--inspector-port 0';
const workerd = (file: string) =>
  `wrangler dev ${file} ${FLAGS} ${NO_FIXED_PORT} --port $PORT --ip 127.0.0.1 ${GIVEN.map((name) => `--var ${name}:$${name}`).join(' ')}`;

export const SET_UPS: readonly SetUp[] = [
  {
    name: 'Express with NodeSDK',
    start: `node ${HOOKED} express.mjs`,
    asked: 'over http',
    calls: [2, 1, 1],
    peers: ALL,
  },
  {
    name: 'Nest',
    start: 'node --import ./preload.mjs nest.cjs',
    asked: 'over http',
    calls: [2, 1, 1],
    peers: ALL,
  },
  { name: 'Hono', start: `node ${PRELOAD} hono.mjs`, asked: 'over http', calls: [2, 1, 1], peers: ALL },
  {
    name: 'AWS Lambda',
    start: `NODE_OPTIONS='${PRELOAD}' node lambda-runtime.mjs`,
    withUs: `NODE_OPTIONS='${REGISTER} ${PRELOAD}' node lambda-runtime.mjs`,
    asked: 'as a function',
    calls: [2, 1, 1],
    peers: ALL,
  },
  { name: 'AI SDK 7', start: `node ${PRELOAD} ai-sdk.mjs`, asked: 'by itself', calls: [2, 0, 1], peers: ALL },
  {
    name: 'LangGraph',
    start: `node ${PRELOAD} langgraph.mjs`,
    asked: 'by itself',
    calls: [2, 0, 1],
    peers: ALL,
  },
  {
    name: 'a published MCP server',
    start: `node ${PRELOAD} stdio.mjs`,
    withUs: `node ${PRELOAD} published.mjs`,
    asked: 'on stdin',
    calls: [0, 0, 1],
    peers: ALL,
  },
  {
    name: 'a bundled MCP server',
    build: `${BUNDLE}stdio.out.mjs stdio.mjs && ${BUNDLE}bundled.out.mjs bundled.mjs`,
    start: `node ${PRELOAD} stdio.out.mjs`,
    withUs: `node ${PRELOAD} bundled.out.mjs`,
    asked: 'on stdin',
    calls: [0, 0, 1],
    says: 'openai was loaded before the hooks',
    peers: ALL,
  },
  ...[
    'next start -H 127.0.0.1 -p $PORT',
    'node $(find .next/standalone -name server.js -not -path "*/node_modules/*")',
  ].map(
    (command): SetUp => ({
      name: `Next.js by ${command.split(' ')[0]}`,
      fixture: 'next',
      build: 'next build',
      start: `HOSTNAME=127.0.0.1 NODE_OPTIONS='--import ./preload.mjs' ${command}`,
      asked: 'over http',
      path: '/api/chat',
      method: 'POST',
      // The stream that a client opens beside its requests.
      aside: /\bGET\b.*\/api\/mcp/,
      calls: [1, 0, 1],
      says: 'openai was loaded before the hooks',
      peers: ALL,
    }),
  ),
  { name: 'Bun', start: 'bun plain-http.mjs', asked: 'over http', calls: [2, 1, 1] },
  {
    name: 'Deno',
    start: 'deno run -A --node-modules-dir=manual plain-http.mjs',
    withUs: 'deno run -A --node-modules-dir=manual --import npm:mcp-observatory/register plain-http.mjs',
    asked: 'over http',
    calls: [2, 1, 1],
  },
  {
    name: 'Cloudflare Workers',
    start: workerd('worker.mjs'),
    withUs: workerd('observed-worker.mjs'),
    asked: 'over http',
    calls: [2, 1, 1],
    sends: true,
  },
];

/** What all of them together install. */
export const SET_UP_PACKAGES: readonly string[] = [
  // Their optional peers disagree.
  '--legacy-peer-deps',
  '@opentelemetry/sdk-node@0.223.0',
  '@opentelemetry/instrumentation@0.223.0',
  '@opentelemetry/instrumentation-http@0.223.0',
  '@opentelemetry/auto-instrumentations-node@0.81',
  '@arizeai/openinference-instrumentation-openai@4',
  '@sentry/node@11',
  'openai@6',
  '@modelcontextprotocol/sdk@1',
  'zod@4',
  'express@5',
  'hono@4',
  '@hono/node-server@1',
  '@nestjs/core@11',
  '@nestjs/common@11',
  '@nestjs/platform-express@11',
  'reflect-metadata@0',
  'rxjs@7',
  'ai@7',
  '@ai-sdk/openai@4',
  '@ai-sdk/mcp@2',
  '@langchain/core@1',
  '@langchain/langgraph@1',
  '@langchain/openai@1.5',
  '@langchain/mcp-adapters@1',
  'esbuild@0.28',
  'next@16',
  'react@19',
  'react-dom@19',
  '@modelcontextprotocol/server@2',
  'mcp-handler@2.4.0',
  'bun@1',
  'deno@2',
  'wrangler@4',
];
