/** The benches that `all` runs, shortest questions first, with their arguments and the figures of the summary. */
import { addedBy } from './contest-figures.ts';
import { type Figure, NOT_PRINTED, parted, type Table } from './figures.ts';

interface Settings {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Bench {
  /** Of its file. */
  readonly name: string;
  /** What it compares, in a sentence. */
  readonly about: string;
  readonly full: Settings;
  /** Replaces settings in a quick run. */
  readonly quick?: Settings;
  readonly limitSeconds: number;
  figures(table: Table): readonly Figure[];
}

function service(kind: string, rate: number, cpu: number): (table: Table) => readonly Figure[] {
  return (table) => {
    const runs = table
      .rows('collect')
      .map((cells) => ({ rate: parted(cells[2] ?? ''), cpu: parted(cells[3] ?? '') }));
    const floors = table.rows('floor').map((cells) => Number(parted(cells[3] ?? '').median));
    const best = runs.reduce(
      (a, b) => (Number(b.rate.median) > Number(a.rate.median) ? b : a),
      runs[0] ?? NOTHING,
    );
    const least = runs.reduce(
      (a, b) => (Number(b.cpu.median) < Number(a.cpu.median) ? b : a),
      runs[0] ?? NOTHING,
    );
    const ratio = Number(least.cpu.median) / Math.min(...floors);
    return [
      { what: `service, ${kind}: spans/s into Postgres, spool synced`, ...best.rate, aim: `>= ${rate}` },
      { what: `service, ${kind}: CPU of the process, us a span`, ...least.cpu, aim: `<= ${cpu}` },
      ...(floors.length > 0
        ? [
            {
              what: `service, ${kind}: CPU relative to the OpenTelemetry Collector that exports nothing`,
              median: ratio.toFixed(1),
              spread: '',
            },
          ]
        : []),
    ];
  };
}

const NOTHING = { rate: { median: NOT_PRINTED, spread: '' }, cpu: { median: NOT_PRINTED, spread: '' } };

export const BENCHES: readonly Bench[] = [
  {
    name: 'startup',
    about: 'Loading: each entry beside the SDK, `register` beside the auto-instrumentations and bare Node.',
    full: { args: ['9'] },
    quick: { args: ['3'] },
    limitSeconds: 240,
    figures: (table) => [
      {
        what: '`register`: CPU relative to auto-instrumentations (spread: ms)',
        median: table.cell(2, 'mcp-observatory/register'),
        spread: parted(table.cell(1, 'mcp-observatory/register')).spread,
        aim: '<= 0.7',
      },
      {
        what: '`register` with `OTEL_SDK_DISABLED`: CPU relative to bare Node (spread: ms)',
        median: table.cell(2, 'register, disabled'),
        spread: parted(table.cell(1, 'register, disabled')).spread,
        aim: '<= 1.3',
      },
      {
        what: 'import of `mcp-observatory`: CPU relative to `@opentelemetry/sdk-trace-node` (spread: ms)',
        median: table.cell(2, 'mcp-observatory'),
        spread: parted(table.cell(1, 'mcp-observatory')).spread,
      },
    ],
  },
  {
    name: 'mcp-instrumentation',
    about: 'What an instrumentation adds to an MCP call.',
    full: {},
    quick: { env: { BENCH_ROUNDS: '9' } },
    limitSeconds: 600,
    figures: addedBy({ title: /^tools\/call/, owned: 1.2, theirs: 1.5 }),
  },
  {
    name: 'llm-instrumentation',
    about: 'What an instrumentation adds to a model call.',
    full: {},
    quick: { env: { BENCH_ROUNDS: '9' } },
    limitSeconds: 600,
    figures: addedBy({ title: /^chat completion$/, owned: 1.2, theirs: 2.5 }),
  },
  {
    name: 'llm-instrumentation',
    about: 'The same with content captured.',
    full: { args: ['--content'] },
    quick: { env: { BENCH_ROUNDS: '5' } },
    limitSeconds: 600,
    figures: addedBy({ title: /with content$/, suffix: ', content', owned: 1.2, theirs: 3 }),
  },
  {
    name: 'llm-instrumentation',
    about: 'The same for answers of several sizes.',
    full: { args: ['--sizes'], env: { BENCH_ROUNDS: '30' } },
    quick: { env: { BENCH_ROUNDS: '3' } },
    limitSeconds: 600,
    figures: addedBy({ title: /characters$/ }),
  },
  {
    name: 'span-processor',
    about: 'What the processor adds to a span.',
    full: {},
    limitSeconds: 300,
    figures: (table) => [
      {
        what: 'processor: added to a chat span with 1 KB of messages, us',
        ...parted(table.cell(3, 'chat, 1 KB as attributes')),
      },
    ],
  },
  {
    name: 'enrichment',
    about: 'Enrichment beside three SHA-256 of the same texts, and the longest it holds the event loop.',
    full: {},
    limitSeconds: 300,
    figures: (table) => [
      ...['4 KB', '64 KB', '1024 KB'].map((size) => {
        const ratios = table
          .rows('')
          .filter((cells) => cells[1] === size && cells.length > 4)
          .map((cells) => Number(parted(cells[4] ?? '').median));
        return {
          what: `enrichment of ${size}: relative to three SHA-256, the worst kind of text (spread: over the kinds)`,
          median: ratios.length === 0 ? NOT_PRINTED : Math.max(...ratios).toFixed(2),
          spread: `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`,
          aim: '<= 5',
        };
      }),
      ...['english', 'json', 'cyrillic'].flatMap((kind) =>
        ['1 MB', '50 MB'].map((size) => {
          const [, , cell = NOT_PRINTED] = table.rows(kind, size)[0] ?? [];
          return {
            what: `enrichment of texts of ${size}, ${kind}: longest slice of work, evidence included, CPU ms`,
            ...parted(cell),
            aim: '<= 20',
          };
        }),
      ),
    ],
  },
  {
    name: 'policy',
    about: 'A decision of the gate beside cedar-wasm.',
    full: {},
    quick: { env: { BENCH_ROUNDS: '10' } },
    limitSeconds: 300,
    figures: (table) => [
      {
        what: "gate, 100 rules, with audit record: p99 of each call's best, us (spread: p50-p99)",
        median: table.cell(5, '100'),
        spread: `${table.cell(4, '100')}-${table.cell(6, '100')}`,
        aim: '<= 100',
      },
    ],
  },
  {
    name: 'policy-one-tool',
    about: 'A decision about a tool that has a thousand rules.',
    full: { env: { BENCH_ROUNDS: '10' } },
    quick: { env: { BENCH_ROUNDS: '4' } },
    limitSeconds: 300,
    figures: (table) =>
      ['literals', 'patterns by prefix', 'patterns by suffix', 'patterns of groups'].map((kind) => ({
        what: `gate, 1,000 rules on one tool (${kind}), with audit record: p99 of each call's best, us (spread: p50-p99)`,
        median: table.cell(6, kind),
        spread: `${table.cell(5, kind)}-${table.cell(7, kind)}`,
        aim: '<= 1,000',
      })),
  },
  {
    name: 'orchestration',
    about:
      'The orchestrator beside a bare loop, the AI SDK and mcp-use; with a thousand and ten thousand tools.',
    full: {},
    quick: { args: ['3'] },
    limitSeconds: 300,
    figures: (table) =>
      ['mcpGhost', 'AI SDK', 'mcp-use'].map((contender) => ({
        what: `orchestration, ${contender}: CPU of a call relative to a bare loop`,
        ...parted(table.cell(3, contender)),
      })),
  },
  {
    name: 'shadow',
    about: 'What a hanging shadow adds to the primary.',
    full: { env: { BENCH_ROUNDS: '5' } },
    quick: { env: { BENCH_ROUNDS: '3', BENCH_CALLS: '300' } },
    limitSeconds: 300,
    figures: (table) => [
      {
        what: 'shadow, default limits: p99 relative to none',
        ...parted(table.cell(4, 'default limits', 'p99')),
      },
    ],
  },
  {
    name: 'postgres-ingest',
    about: "Ways to write spans to Postgres beside psql's `\\copy`.",
    // As many rows as make the start of psql negligible.
    full: { args: ['40000', '21'] },
    quick: { args: ['10000', '3'] },
    limitSeconds: 600,
    figures: (table) =>
      [
        ['exporter, COPY, one at a time', '>= 0.9'],
        ['exporter, COPY, 1 connection', '>= 0.9'],
        ['processor, COPY, 1 connection', '>= 0.9'],
        ['exporter, COPY, 4 in flight', '>= 1.2'],
        ['processor, COPY, its defaults', '>= 1.2'],
      ].map(([name = '', aim = '']) => ({
        what: `${name}: rate relative to \`\\copy\``,
        median: table.cell(2, name),
        spread: table.cell(3, name),
        aim,
      })),
  },
  {
    name: 'collector-floor',
    about: 'The service with a mix of spans beside the OpenTelemetry Collector that exports nothing.',
    full: { args: ['--kind', 'mix', '--spool'] },
    quick: { args: ['--kind', 'mix', '--spool', '--seconds', '3', '--max-connections', '2'] },
    limitSeconds: 420,
    figures: service('mix', 25_000, 30),
  },
  {
    name: 'collector',
    about: 'The service with chat spans that have content.',
    full: { args: ['--kind', 'content', '--spool'] },
    quick: { args: ['--kind', 'content', '--spool', '--seconds', '3', '--max-connections', '2'] },
    limitSeconds: 240,
    figures: service('content', 12_000, 65),
  },
  {
    name: 'service-stages',
    about: 'CPU of the service by stage and kind of span.',
    full: { args: ['21'] },
    quick: { args: ['9'] },
    limitSeconds: 300,
    figures: () => [],
  },
  {
    name: 'otlp-decode',
    about: 'Reading OTLP beside protobufjs.',
    full: { args: ['15'] },
    limitSeconds: 300,
    figures: () => [],
  },
  {
    name: 'questions',
    about: 'Questions to Postgres that have an index, and the first refresh of the roll-ups.',
    full: { args: ['300000'] },
    quick: { args: ['100000'] },
    limitSeconds: 300,
    figures: () => [],
  },
  {
    name: 'page',
    about: 'What the views of the page ask for.',
    full: { args: ['300000'] },
    quick: { args: ['50000'] },
    limitSeconds: 240,
    figures: () => [],
  },
];
