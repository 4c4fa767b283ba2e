/**
 * The runs of the golden library. Each is a script of what the model says in neutral form, so one script serves all
 * three provider APIs.
 */
import type { ComparisonRules, GhostOptions, GoldenCategory } from '../src/golden/index.ts';
import type { Script, Turn } from '../test/support/scripted-provider.ts';

export interface LibraryRun {
  readonly name: string;
  readonly description: string;
  readonly category: GoldenCategory;
  readonly task: string;
  /** What the model says, turn by turn; per provider if they differ. */
  readonly script: Script | { readonly by: (provider: string) => Script };
  readonly options?: Partial<GhostOptions>;
  readonly comparison?: Partial<ComparisonRules>;
  /** @defaultValue all three */
  readonly providers?: readonly string[];
}

/** The servers of the runs, as commands that work from the repository root after a build. */
export const SERVERS = {
  mcpServers: {
    scenario: { command: 'node', args: ['dist/test/support/scenario-server.js'] },
  },
};

/** A real database and real files: Postgres in process (PGlite), and the file server of npm. */
const REAL_SERVERS = {
  mcpServers: {
    database: { command: 'node', args: ['dist/examples/servers/database.js'] },
    files: {
      command: 'node',
      args: ['node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', 'examples/documents'],
    },
  },
};

const query = (sql: string) => ({ name: 'database__query', arguments: { sql } });
const read = (path: string) => ({ name: 'files__read_text_file', arguments: { path } });

const call = (name: string, args: Readonly<Record<string, unknown>> = {}) => ({
  name: `scenario__${name}`,
  arguments: args,
});

/** Greetings in scripts that often break programs: right to left, astral, combining, and one of four code points. */
const GREETINGS = 'שלום, 你好, Привет, ⛵ 👩‍🚀 e\u0301 \u{1F1EB}\u{1F1F7} ünïcödé';

/** The runs that the requirements of MCP-Ghost name, over a real database and real files. */
const REAL: readonly LibraryRun[] = [
  {
    name: 'happy_path_database_query',
    description: 'The tables of a database are listed, and one query answers the question.',
    category: 'happy_path',
    task: 'Which customers have unpaid invoices, and how much do they owe together?',
    script: [
      { text: 'I look at the tables first.', calls: [{ name: 'database__list_tables' }] },
      {
        calls: [
          query(
            'SELECT c.name, sum(i.amount_eur) AS owed FROM invoices i JOIN customers c ON c.id = i.customer_id WHERE NOT i.paid GROUP BY c.name ORDER BY c.name',
          ),
        ],
      },
      { text: 'Ada owes 80.50, Edsger 45.25 and Grace 310.00: 435.75 EUR together.' },
    ],
    comparison: { final_answer: { check: 'contains', texts: ['435.75'] } },
  },
  {
    name: 'error_recovery_file_not_found',
    description: 'A file is not where the model looks; it lists the folder and reads the right one.',
    category: 'error_recovery',
    task: 'What does the payment policy say about large payments?',
    script: [
      { calls: [read('policy.md')] },
      { text: 'I list the folder.', calls: [{ name: 'files__list_directory', arguments: { path: '.' } }] },
      { calls: [read('payment-policy.md')] },
      { text: 'The payment policy is in payment-policy.md; large payments need an approval.' },
    ],
    comparison: { final_answer: { check: 'contains', texts: ['approval'] } },
  },
  {
    name: 'multi_tool_chain_analysis',
    description: 'A chain of five calls over both servers, each with what the one before returned.',
    category: 'happy_path',
    task: 'Which unpaid invoice is the largest, whose is it, and what does our policy say?',
    script: [
      { calls: [{ name: 'database__list_tables' }] },
      { calls: [{ name: 'database__describe_table', arguments: { table: 'invoices' } }] },
      {
        calls: [
          query(
            'SELECT id, customer_id, amount_eur FROM invoices WHERE NOT paid ORDER BY amount_eur DESC LIMIT 1',
          ),
        ],
      },
      { calls: [query("SELECT name, city FROM customers WHERE id = 'C2'")] },
      { calls: [read('payment-policy.md')] },
      {
        text: 'I-103 over 310.00 EUR is the largest; it is Grace’s, of Oslo. The policy asks for an approval.',
      },
    ],
    comparison: { final_answer: { check: 'contains', texts: ['I-103', 'Grace'] } },
  },
  {
    name: 'backtracking_scenario',
    description: 'A query fails twice; the model looks at the columns, and gets it right.',
    category: 'error_recovery',
    task: 'What does Ada owe?',
    script: [
      { calls: [query("SELECT sum(amount) FROM invoices WHERE customer = 'Ada'")] },
      { calls: [query("SELECT sum(amount_eur) FROM invoices WHERE customer = 'Ada'")] },
      {
        text: 'I need the columns.',
        calls: [{ name: 'database__describe_table', arguments: { table: 'invoices' } }],
      },
      {
        calls: [query("SELECT sum(amount_eur) AS owed FROM invoices WHERE customer_id = 'C1' AND NOT paid")],
      },
      { text: 'Ada owes 80.50 EUR.' },
    ],
    comparison: { final_answer: { check: 'contains', texts: ['80.50'] } },
  },
  {
    name: 'complex_tool_orchestration',
    description: 'Calls of both servers side by side, turn after turn, and one answer from all of them.',
    category: 'edge_case',
    task: 'Check our unpaid invoices against the payment policy.',
    script: [
      {
        text: 'I look at both places at once.',
        calls: [
          { name: 'database__list_tables' },
          { name: 'files__list_directory', arguments: { path: '.' } },
        ],
      },
      {
        calls: [
          query('SELECT id, amount_eur, due FROM invoices WHERE NOT paid ORDER BY id'),
          read('payment-policy.md'),
          { name: 'files__get_file_info', arguments: { path: 'no-such-file.md' } },
        ],
      },
      {
        calls: [query("SELECT count(*)::int AS overdue FROM invoices WHERE NOT paid AND due < '2026-11-01'")],
      },
      { text: 'Three invoices are unpaid, two of them overdue since before November 2026.' },
    ],
    comparison: { final_answer: { check: 'contains', texts: ['two'] } },
  },
].map((run) => ({ ...run, options: { serverConfig: REAL_SERVERS } }) as LibraryRun);

export const LIBRARY: readonly LibraryRun[] = [
  ...REAL,
  {
    name: 'happy_path_customer_lookup',
    description: 'Two calls, one after the other, and an answer from both.',
    category: 'happy_path',
    task: 'Where does customer C17 live, and what is 20 and 22?',
    script: [
      { text: 'I look the customer up.', calls: [call('find_customer', { id: 'C17' })] },
      { calls: [call('add', { a: 20, b: 22 })] },
      { text: 'Customer C17 is Ada in Paris-7; 20 and 22 make 42.' },
    ],
    comparison: {
      final_answer: { check: 'contains', texts: ['Ada', 'Paris', '42'] },
      bounds: { max_total_tokens: 2_000 },
    },
  },
  {
    name: 'chain_of_five_calls',
    description: 'A chain of five calls in which each uses what the one before returned.',
    category: 'happy_path',
    task: 'Look up C3, add its district to 35, and write down what you found.',
    script: [
      { calls: [call('find_customer', { id: 'C3' })] },
      { text: 'District 7.', calls: [call('add', { a: 7, b: 35 })] },
      { calls: [call('echo', { text: 'customer C3: district 7, sum 42' })] },
      { calls: [call('slow_report', { ms: 1 })] },
      { calls: [call('add', { a: 42, b: 0 })] },
      { text: 'Customer C3 lives in district 7; with 35 that makes 42. The report is made.' },
    ],
  },
  {
    name: 'planned_run',
    description: 'A plan is made before the first call.',
    category: 'happy_path',
    task: 'Add 1 and 2.',
    script: [
      { text: '1. Add the numbers. 2. Answer.' },
      { calls: [call('add', { a: 1, b: 2 })] },
      { text: '3' },
    ],
    options: { plan: true },
    providers: ['anthropic'],
  },
  {
    name: 'tools_changed',
    description: 'A tool that appears during the run is called.',
    category: 'happy_path',
    task: 'What is the secret?',
    script: (seen) =>
      seen.text.includes('the secret is 42')
        ? { text: 'The secret is 42.' }
        : { calls: [call(seen.text.includes('unlocked') ? 'secret' : 'unlock')] },
    providers: ['openai', 'anthropic'],
  },
  {
    name: 'error_recovery_bad_argument',
    description: 'A call fails; the model tries again with other arguments.',
    category: 'error_recovery',
    task: 'Where does customer 17 live?',
    script: [
      { calls: [call('find_customer', { id: '17' })] },
      { text: 'The id needs a C.', calls: [call('find_customer', { id: 'C17' })] },
      { text: 'Ada lives in Paris-7.' },
    ],
  },
  {
    name: 'backtracking_to_search',
    description: 'A tool keeps failing until the model takes another one.',
    category: 'error_recovery',
    task: 'Where does Grace live?',
    script: [
      { calls: [call('find_customer', { id: 'Grace' })] },
      { calls: [call('find_customer', { id: 'grace' })] },
      { text: 'Not by id, then.', calls: [call('search_customer', { name: 'Grace' })] },
      { text: 'Customer Grace is known; the address is not.' },
    ],
    comparison: { final_answer: { check: 'token_overlap', least: 0.6 } },
  },
  {
    name: 'error_recovery_server_died',
    description: 'The server dies in mid-call, is started again, and answers.',
    category: 'error_recovery',
    task: 'Add 1 and 1.',
    script: [{ calls: [call('die')] }, { calls: [call('add', { a: 1, b: 1 })] }, { text: '2' }],
    providers: ['openai', 'gemini'],
  },
  {
    name: 'error_recovery_timeout',
    description: 'A call gets no answer in time, and the model does without it.',
    category: 'error_recovery',
    task: 'Make the report, or add 2 and 3.',
    script: [
      { calls: [call('never')] },
      { calls: [call('add', { a: 2, b: 3 })] },
      { text: 'No report, but 5.' },
    ],
    options: { timeout: 2 },
    providers: ['anthropic', 'gemini'],
  },
  {
    name: 'error_recovery_stream_cut',
    description:
      'The connection to the provider breaks in the middle of an answer, and the request is made again.',
    category: 'error_recovery',
    task: 'Say hello.',
    script: [{ text: 'Hello, I was cut off', cutAfterBytes: 260 }, { text: 'Hello.' }],
  },
  {
    name: 'provider_comparison_customer',
    description: 'The same task for all three providers.',
    category: 'provider_comparison',
    task: 'Which customer is C1, and which are called Ada?',
    script: [
      { calls: [call('find_customer', { id: 'C1' }), call('search_customer', { name: 'Ada' })] },
      { text: 'C1 is Ada; one customer is called Ada.' },
    ],
    comparison: { final_answer: { check: 'normalised_hash' } },
  },
  {
    name: 'edge_case_parallel_calls',
    description: 'Four calls in one turn, one of them twice.',
    category: 'edge_case',
    task: 'Add these numbers.',
    script: [
      {
        calls: [
          call('add', { a: 1, b: 1 }),
          call('add', { a: 2, b: 2 }),
          call('add', { a: 1, b: 1 }),
          call('find_customer', { id: 'none' }),
        ],
      },
      { text: '2, 4 and 2; there is no customer of that id.' },
    ],
  },
  {
    name: 'edge_case_unicode',
    description: 'Text in many scripts as argument, result and answer.',
    category: 'edge_case',
    task: `Repeat: ${GREETINGS}`,
    script: [{ calls: [call('echo', { text: GREETINGS })] }, { text: GREETINGS }],
  },
  {
    name: 'edge_case_huge_result',
    description: 'A result far larger than the model is shown; the model reads its end by reference.',
    category: 'edge_case',
    task: 'How does the flood end?',
    script: [
      { calls: [call('flood', { chars: 120_000 })] },
      {
        calls: [
          { name: 'read_tool_result', arguments: { reference: 'result_1', offset: 119_990, length: 40 } },
        ],
      },
      { text: 'It ends with END.' },
    ],
    options: { maxResultChars: 2_000 },
    providers: ['openai', 'anthropic'],
  },
  {
    name: 'edge_case_empty_result',
    description: 'A tool succeeds with nothing to say.',
    category: 'edge_case',
    task: 'Do nothing.',
    script: [{ calls: [call('nothing')] }, { text: 'Nothing was done.' }],
  },
  {
    name: 'edge_case_refusal',
    description: 'The model declines.',
    category: 'edge_case',
    task: 'Do something you must not do.',
    script: [{ text: 'I cannot help with that.', refused: true }],
  },
  {
    name: 'edge_case_truncation',
    description: 'The answer is cut by the output limit and continued.',
    category: 'edge_case',
    task: 'Count to six.',
    script: [{ text: 'one two three ', truncated: true }, { text: 'four five six' }],
  },
  {
    name: 'edge_case_rate_limit',
    description: 'The provider asks to wait, twice, and then answers.',
    category: 'edge_case',
    task: 'Say hello.',
    script: {
      by: (provider) => {
        const type = provider === 'gemini' ? 'RESOURCE_EXHAUSTED' : 'rate_limit_error';
        const limited: Turn = {
          status: 429,
          errorType: type,
          text: 'Slow down.',
          headers: { 'retry-after': '0' },
        };
        return [limited, limited, { text: 'Hello.' }];
      },
    },
    options: { retry: { initialDelayMs: 1, maxDelayMs: 2 } },
  },
  {
    name: 'edge_case_malformed_call',
    description: 'The model writes a call that cannot be parsed, and gets the error.',
    category: 'edge_case',
    task: 'Add 1 and 2.',
    script: {
      by: (provider) => [
        provider === 'gemini'
          ? { malformedCall: true }
          : { calls: [{ name: 'scenario__add', rawArguments: '{"a": 1, "b": ' }] },
        { calls: [call('add', { a: 1, b: 2 })] },
        { text: '3' },
      ],
    },
  },
  {
    name: 'edge_case_loop',
    description: 'The model goes round in circles and is stopped.',
    category: 'edge_case',
    task: 'Find the customer.',
    script: (_seen, index) =>
      index < 5 ? { calls: [call('find_customer', { id: 'C1' })] } : { text: 'It is Ada; I kept asking.' },
  },
  {
    name: 'edge_case_breaker',
    description: 'A server that gives no answer is paused, and calls to it are refused without waiting.',
    category: 'edge_case',
    task: 'Use the tool that never answers.',
    script: [
      { calls: [call('never')] },
      { calls: [call('never')] },
      { calls: [call('never')] },
      { text: 'The tool does not answer.' },
    ],
    options: { timeout: 0.2, breaker: { failureThreshold: 2, coolDownMs: 600_000 } },
    providers: ['openai', 'anthropic'],
  },
  {
    name: 'edge_case_provider_failed',
    description: 'The provider stays unreachable; the run ends with what it knows.',
    category: 'edge_case',
    task: 'Add 4 and 5.',
    script: [
      { calls: [call('add', { a: 4, b: 5 })] },
      { status: 503, errorType: 'UNAVAILABLE', text: 'Overloaded.' },
      { status: 503, errorType: 'UNAVAILABLE', text: 'Overloaded.' },
    ],
    options: { retry: { initialDelayMs: 1, maxDelayMs: 2, maxAttempts: 2 } },
    providers: ['gemini'],
  },
  {
    name: 'edge_case_reasoning',
    description: 'The model thinks before it calls; what it thought is sent back as it came.',
    category: 'edge_case',
    task: 'Add 2 and 2.',
    script: [
      { reasoning: 'The task is a sum.', calls: [call('add', { a: 2, b: 2 })] },
      { reasoning: 'That is all.', text: '4' },
    ],
    providers: ['anthropic', 'gemini'],
  },
];
