import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type OpenAI from 'openai';
import { packageFile, semconv } from '../../base/index.ts';
import { instrument } from '../../execution/index.ts';
import { type Golden, playGolden, readGolden } from '../../golden/index.ts';
import type { Database } from '../../postgres/index.ts';
import { CAPTURE_CONTENT_VARIABLE } from '../../processor/index.ts';
import { startObservatory } from '../../setup/index.ts';
import { type CommandIo, findOpenDatabase } from '../command-line/index.ts';
import { formatWaterfall, progressOn } from '../terminal/index.ts';
import { converse } from './conversation.ts';
import { formatReport, readReport } from './report.ts';
import { startDemoServers } from './servers.ts';

const GOLDEN = packageFile('goldens/openai/invoice_review.json');
const SERVICE = 'observatory-demo';

interface DemoOptions {
  /** Ask the real API instead of playing the golden. */
  readonly live: boolean;
  readonly model: string;
  readonly 'database-url'?: string | undefined;
  readonly 'data-dir'?: string | undefined;
}

/** Runs the demo and prints what it recorded. Closes everything it opened. */
export async function runDemo(options: DemoOptions, io: CommandIo): Promise<void> {
  const progress = progressOn(io.stderr);
  try {
    progress.step('opening the database');
    await using database = await findOpenDatabase(options, io, {
      create: true,
      variables: 'own',
      mayShare: true,
    });
    const { spansUrl } = database;
    // The texts of the golden are nobody's, and the page is about them. Instrumentations look there only.
    if (!options.live) process.env[CAPTURE_CONTENT_VARIABLE] ??= 'true';
    await using observatory = await startObservatory({
      serviceName: SERVICE,
      ...(spansUrl === undefined
        ? { postgres: database }
        : { postgres: false as const, otlp: { url: `${spansUrl}/v1/traces` } }),
    });
    const golden = await readGolden(GOLDEN);
    await using model = await openModel(options, golden);

    const traceId = await inWorkflow('invoice-review', async () => {
      progress.step('starting two MCP servers');
      await using servers = await startDemoServers();
      await converse({
        openai: model.openai,
        model: options.live ? options.model : (golden.input.model as string),
        servers,
        interceptor: instrument({ serviceName: SERVICE }),
        systemPrompt: golden.input.system_prompt as string,
        questions: golden.input.user_prompts as string[],
        onStep: (text) => progress.step(text),
      });
    });
    progress.step('reading the trace back by SQL');
    await observatory.forceFlush();
    const rows = await readReport(database, traceId);
    progress.done();

    const { paint } = io.stdout;
    const heading = (text: string) => `\n${paint('bold', text)}\n`;
    io.stdout.write(
      [
        heading(`Trace ${traceId}`),
        formatWaterfall(rows, paint),
        heading(`mcp_traces in ${database.name}, read by SQL`),
        formatReport(rows),
        heading('Model'),
        model.description,
        heading('What to run next'),
        nextSteps(io.env, database),
        '',
      ].join('\n'),
    );
  } finally {
    progress.done();
  }
}

interface DemoModel extends AsyncDisposable {
  readonly openai: OpenAI;
  readonly description: string;
}

async function openModel(options: DemoOptions, golden: Golden): Promise<DemoModel> {
  const { default: OpenAIClient } = await import('openai');
  if (options.live) {
    return {
      openai: new OpenAIClient(),
      description: `${options.model}, asked live.`,
      [Symbol.asyncDispose]: async () => {},
    };
  }
  const playback = await playGolden(golden, { inOrder: true });
  return {
    openai: new OpenAIClient({ apiKey: 'not-needed', baseURL: playback.baseUrl, maxRetries: 0 }),
    description: `Played from goldens/openai/invoice_review.json (source: ${golden.source}); no provider was asked.`,
    [Symbol.asyncDispose]: () => playback.close(),
  };
}

/** Runs work inside a workflow span and returns its trace id as a UUID, as in `mcp_traces`. */
async function inWorkflow(name: string, work: () => Promise<void>): Promise<string> {
  const span = trace.getTracer(SERVICE).startSpan(`invoke_workflow ${name}`, {
    kind: SpanKind.INTERNAL,
    attributes: {
      [semconv.ATTR_GEN_AI_OPERATION_NAME]: 'invoke_workflow',
      [semconv.ATTR_GEN_AI_WORKFLOW_NAME]: name,
    },
  });
  try {
    await context.with(trace.setSpan(context.active(), span), work);
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
  return span.spanContext().traceId;
}

function nextSteps(env: CommandIo['env'], { kind, spansUrl }: Database): string {
  const steps = [
    spansUrl === undefined
      ? ['npx mcp-observatory up', 'this run, and those of your programs, on a page']
      : [
          'npx mcp-observatory tax',
          'what the definitions of tools cost; this run is on the page that is open',
        ],
    ['npx mcp-observatory runs list', 'the same in the terminal'],
    ['npx mcp-observatory score --help', 'the same scores for your own prompts and answers, as JSONL'],
  ];
  if (kind === 'pglite') {
    const command = 'npx mcp-observatory demo --database-url postgresql://...';
    steps.push([command, 'the demo in your own Postgres']);
  }
  if (!env.OTEL_EXPORTER_OTLP_ENDPOINT) {
    const command = 'OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 npx mcp-observatory demo';
    steps.push([command, 'the demo in your OTLP back end too']);
  }
  return steps.map(([command, what]) => `  # ${what}\n  ${command}`).join('\n');
}
