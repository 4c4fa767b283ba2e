import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { markAnswer } from '../src/cli/score-explain.ts';
import { scoreEvidence, type TraceStep } from '../src/evidence/index.ts';
import { cpuMs } from './support/cpu-time.ts';

const kinds = (prompt: string, answer: string, steps: readonly TraceStep[]) =>
  scoreEvidence({ prompt, answer, steps })?.findings.map(({ kind }) => kind) ?? [];

const ok = (tool: string, args: unknown, result: unknown): TraceStep => ({ tool, arguments: args, result });
const failed = (tool: string, args: unknown, result: unknown): TraceStep => ({
  tool,
  arguments: args,
  result,
  isError: true,
});

const CONTRADICTED: readonly (readonly [
  name: string,
  kind: string,
  prompt: string,
  answer: string,
  steps: readonly TraceStep[],
])[] = [
  [
    'a failure hidden in the result',
    'tool_failed_claimed_success',
    'Cancel order 77.',
    'Order 77 has been cancelled.',
    [ok('cancel_order', { id: '77' }, { status: 'refused', reason: 'already shipped' })],
  ],
  [
    'a call that the gate denied',
    'tool_failed_claimed_success',
    'Send the report to Ana.',
    "I've sent the report to Ana.",
    [failed('send_email', { to: 'ana@example.com' }, 'denied by policy')],
  ],
  [
    'no call at all',
    'tool_never_called',
    'Delete the old backups.',
    'The old backups have been deleted.',
    [],
  ],
  [
    'one of several failed',
    'partial',
    'Upload both files.',
    'Both files have been uploaded.',
    [ok('upload', { file: 'a.txt' }, 'ok'), ok('upload', { file: 'b.txt' }, '413 Payload Too Large')],
  ],
  [
    'an empty result',
    'empty_result_confident_answer',
    'Find a flight to Oslo.',
    'There is a direct flight at 9:15 for 130 dollars.',
    [ok('find_flights', { to: 'OSL' }, { results: [] })],
  ],
  [
    'an amount with one wrong digit',
    'wrong_value',
    'How much is the fee?',
    'The fee is $184.50.',
    [ok('get_fee', {}, { fee: 124.5 })],
  ],
  [
    'an id with one wrong character',
    'wrong_value',
    'Cancel it.',
    'Order W2066703 has been cancelled.',
    [ok('cancel_order', { id: 'W2466703' }, { id: 'W2466703', status: 'cancelled' })],
  ],
  [
    'a denial of a success',
    'wrong_negation',
    'Book a room.',
    'The room could not be booked.',
    [ok('book_room', { room: 4 }, { status: 'confirmed' })],
  ],
  [
    'a status that is a refusal only as a whole',
    'tool_failed_claimed_success',
    'Deploy it.',
    'Version 4 is now live.',
    [ok('deploy', { version: 4 }, { id: 'd-1', status: 'rolled_back' })],
  ],
  [
    'a call that failed beside another one that did something else',
    'tool_failed_claimed_success',
    'Refund order 5512.',
    'I have refunded $88.00 to your card.',
    [
      ok('refund', { id: 5512 }, { status: 'failed' }),
      ok('store_credit', { id: 5512 }, { status: 'ok', credit: 88 }),
    ],
  ],
  [
    'a German date, which is no end of a sentence',
    'tool_never_called',
    'Trag den Termin ein.',
    'Ich habe den Termin am 3. Juli um 14 Uhr eingetragen.',
    [],
  ],
  [
    'German',
    'tool_failed_claimed_success',
    'Bitte storniere Bestellung 77.',
    'Die Bestellung 77 wurde storniert.',
    [ok('cancel_order', { id: '77' }, 'Fehler: bereits versandt')],
  ],
  [
    'Spanish',
    'tool_failed_claimed_success',
    'Cancela el pedido.',
    'El pedido ha sido cancelado.',
    [ok('cancelar', { id: '7' }, { error: 'ya enviado' })],
  ],
  [
    'Japanese',
    'tool_failed_claimed_success',
    '注文をキャンセルしてください。',
    '注文をキャンセルしました。',
    [ok('cancel_order', { id: '7' }, { error: '発送済み' })],
  ],
  [
    'Chinese',
    'tool_failed_claimed_success',
    '请取消订单。',
    '订单已取消。',
    [ok('cancel_order', { id: '7' }, '失败:已发货')],
  ],
  [
    'a refusal in plain words',
    'tool_failed_claimed_success',
    'Cancel order W1234567.',
    'Order W1234567 has been cancelled.',
    [ok('cancel_order', { id: 'W1234567' }, 'Request aborted: quota exceeded')],
  ],
  [
    'a request that keys without values do not tell',
    'tool_never_called',
    'Return the kettle, please.',
    'Your return request has been submitted.',
    [
      ok(
        'get_order',
        { id: 'W1' },
        { id: 'W1', status: 'delivered', return_items: null, return_reason: null },
      ),
    ],
  ],
];

for (const [name, kind, prompt, answer, steps] of CONTRADICTED)
  test(`an answer that the trace contradicts is found: ${name}`, () => {
    assert.ok(kinds(prompt, answer, steps).includes(kind as never), String(kinds(prompt, answer, steps)));
    assert.equal(scoreEvidence({ prompt, answer, steps })?.level, 'high');
  });

const SUPPORTED: readonly (readonly [
  name: string,
  prompt: string,
  answer: string,
  steps: readonly TraceStep[],
])[] = [
  [
    'a second try that succeeded',
    'Send it.',
    'The mail has been sent.',
    [failed('send_email', { to: 'a@b.c' }, 'timeout'), ok('send_email', { to: 'a@b.c' }, 'sent')],
  ],
  [
    'an honest report of the failure',
    'Cancel order 77.',
    'I am sorry, order 77 could not be cancelled: it has shipped.',
    [ok('cancel_order', { id: '77' }, { error: 'shipped' })],
  ],
  ['a plan', 'Cancel order 77.', 'I will cancel order 77 as soon as you confirm.', []],
  [
    'an offer',
    'What is on my list?',
    'Bread and eggs. Shall I add milk?',
    [ok('get_list', {}, { items: ['bread', 'eggs'] })],
  ],
  [
    'failed: 0',
    'Import the file.',
    'All 31 contacts were imported without any errors.',
    [ok('import_contacts', { file: 'a.csv' }, { imported: 31, failed: 0 })],
  ],
  [
    'the empty last page',
    'List the open tickets.',
    'There are four open tickets.',
    [
      ok('list_tickets', { page: 1 }, { items: ['a', 'b', 'c', 'd'] }),
      ok('list_tickets', { page: 2 }, { items: [] }),
    ],
  ],
  ['a sum', 'What is the total?', 'The total is $41.25.', [ok('get_items', {}, { prices: [19.5, 21.75] })]],
  [
    'a share and a rounded number',
    'How large is the margin?',
    'The margin is 3.1 % of 1,012 answers.',
    [ok('get_poll', {}, { margin: 0.0312, answers: 1012 })],
  ],
  [
    'degrees in the other scale',
    'How warm is it?',
    'It is 22 °C (about 72 °F).',
    [ok('get_weather', {}, '22C')],
  ],
  [
    "the user's own number",
    'Transfer $250 to Lena.',
    'I have transferred $250 to Lena.',
    [ok('transfer', { to: 'Lena' }, { status: 'done' })],
  ],
  [
    'a German number',
    'Wie hoch ist der Saldo?',
    'Der Saldo beträgt 7.300,50 €.',
    [ok('saldo', {}, { saldo: 7300.5 })],
  ],
  [
    'a span of years is no negative number',
    'When was it?',
    'The program ran in 2019-2020.',
    [ok('get_program', {}, { from: 2019, to: 2020 })],
  ],
  [
    'an abandoned plan beside a count of no errors',
    'What became of the plan?',
    'The plan was abandoned.',
    [ok('get_plan', {}, 'Plan 4 was abandoned in May. The check found 0 errors.')],
  ],
  [
    'a total of prices that the answer lists',
    'What do I get back?',
    'Refunds: $200.80 for the board, $96.35 for the hose, $193.38 for the bag, $231.37 for the keyboard. Total: $721.90.',
    [ok('orders', {}, { a: 200.8, b: 96.35, c: 193.38, d: 231.37, e: 1262.41, f: 581.15, g: 473.48 })],
  ],
  [
    'the total of a list',
    'What are my claims worth?',
    'Together they come to $1,740.40.',
    [ok('list_claims', {}, { claims: [{ amount: 1200 }, { amount: 450.5 }, { amount: 89.9 }] })],
  ],
  [
    'a balance that was looked up after the refund',
    'Has the refund been paid?',
    'The refund of $242.15 has been applied. Your balance has been updated to $298.15.',
    [
      ok('refund_order', { id: 1 }, { refund: 242.15 }),
      ok('get_account', {}, { gift_card: { amount: 298.15 } }),
    ],
  ],
  [
    'a waiting list',
    'Cancel Thursday and book Saturday.',
    'I cancelled Thursday, but the Saturday class was full, so you are on the waiting list.',
    [
      ok('cancel_class', { day: 'Thu' }, { ok: true }),
      ok('book_class', { day: 'Sat' }, { ok: false, reason: 'class full' }),
    ],
  ],
  [
    'a part of them, said so',
    'Tag all three.',
    'Two of three are tagged; the last one is locked.',
    [
      ok('tag', { id: 'one' }, { ok: true }),
      ok('tag', { id: 'two' }, { ok: true }),
      ok('tag', { id: 'three' }, { error: 'locked' }),
    ],
  ],
  [
    'a name that nobody has',
    'Is the name marco_91 free?',
    'Yes, marco_91 is available.',
    [ok('get_user', { name: 'marco_91' }, { status: 404, error: 'User not found' })],
  ],
  [
    'searches that were made',
    'Find flights.',
    "I've completed the searches.",
    [ok('search', {}, ['a', 'b'])],
  ],
  [
    'a refusal in a word of its language',
    'Réserve deux billets.',
    "Le concert est complet, je n'ai pas pu réserver.",
    [ok('reserver', { quantite: 2 }, { statut: 'complet' })],
  ],
  [
    'a denial of a call that failed',
    'Run the backup.',
    'It was not completed.',
    [failed('run_backup', {}, 'failed: disk full')],
  ],
  [
    'a request for leave',
    'Change the address.',
    'Confirm with "yes" that everything is set. I have paypal_7644869 on file.',
    [ok('get_user', {}, { id: 'u1', payment: 'paypal_7644869' })],
  ],
  [
    'wishes of the user, told again',
    'Please move it to Charlotte.',
    'You said the order was sent to Washington and you want it changed. What is your email?',
    [],
  ],
  [
    'a call that succeeded, beside another one that failed and is left to later',
    'Update the address, then exchange the tablet.',
    'The delivery address has been updated. When your tablet is delivered, feel free to reach out.',
    [
      ok('modify_order_address', { id: '#W1092119', city: 'Oslo' }, { id: '#W1092119', city: 'Oslo' }),
      failed(
        'exchange_delivered_items',
        { id: '#W1603792' },
        'Error: Non-delivered order cannot be exchanged',
      ),
    ],
  ],
  [
    'a number with its scale as the result has it',
    'How many people live there?',
    'About 21 million in the city, and the market is worth $50 billion.',
    [ok('search', { q: 'x' }, 'The city has 21 million people and a market of $50B.')],
  ],
  [
    'what others did, as reads tell it',
    'What is new about the models?',
    'The release notes have been published for both models.',
    [ok('search', { q: 'models' }, '[one] latest release notes')],
  ],
  [
    'a command that says nothing',
    'Rename the branch to y.',
    'Done, the branch is now called y.',
    [ok('git', { cmd: 'branch -m x y' }, '')],
  ],
  [
    'an amount in cents',
    'Charge the customer $49.',
    'The customer has been charged $49.00.',
    [ok('charge', { amount: 4900 }, { status: 'succeeded', amount: 4900 })],
  ],
  [
    'what was not asked for was not done',
    'Exchange the lamp only.',
    'The lamp exchange has been submitted. The bottle exchange was not requested.',
    [ok('exchange_items', { items: ['lamp'] }, { status: 'exchange requested' })],
  ],
];

for (const [name, prompt, answer, steps] of SUPPORTED)
  test(`an answer in line with the trace has no finding: ${name}`, () => {
    assert.deepEqual(kinds(prompt, answer, steps), []);
    assert.ok(['low', undefined].includes(scoreEvidence({ prompt, answer, steps })?.level));
  });

interface Row {
  readonly id: string;
  readonly prompt: string;
  readonly steps: readonly { tool: string; arguments: unknown; result: unknown; is_error: boolean }[];
  readonly answer: string;
  readonly label: 'contradicted' | 'supported';
}

test('of runs with many tools in eight languages, at most one supported row in a hundred is marked and most contradictions are found', () => {
  const rows = readFileSync('bench/claim-rows.jsonl', 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
  const marked = rows.filter(({ prompt, answer, steps }) => {
    const given = steps.map(({ is_error: isError, ...step }) => ({ ...step, isError }));
    return kinds(prompt, answer, given).some((kind) => !kind.startsWith('unsupported_'));
  });
  const wrong = marked.filter(({ label }) => label === 'supported').map(({ id }) => id);
  assert.ok(wrong.length <= 0.01 * rows.length, `supported, but marked: ${wrong.join(', ')}`);
  const contradicted = rows.filter(({ label }) => label === 'contradicted').length;
  assert.ok(marked.length - wrong.length >= 0.72 * contradicted, `${marked.length} of ${contradicted} found`);
});

test('a finding points at the sentence, in code points, and at the step', () => {
  const answer = '👍 Done. Order 77 has been cancelled.';
  const steps = [
    ok('get_order', { id: '77' }, { id: '77' }),
    ok('cancel_order', { id: '77' }, { error: 'shipped' }),
  ];
  const [finding] = scoreEvidence({ prompt: 'Cancel order 77.', answer, steps })?.findings ?? [];
  assert.ok(finding);
  assert.equal([...answer].slice(finding.start, finding.end).join(''), 'Order 77 has been cancelled.');
  assert.equal(finding.step, 1);
});

test('a marked answer is split where findings begin and end, and is whole together', () => {
  const answer = '👍 Paid 7 of 9.';
  const segments = markAnswer(answer, [
    { kind: 'unsupported_number', start: 7, end: 8 },
    { kind: 'wrong_value', start: 2, end: 99 },
    { kind: 'wrong_value', start: Number.NaN, end: -4 },
  ]);
  assert.equal(segments.map(({ text }) => text).join(''), answer);
  assert.deepEqual(segments, [
    { text: '👍 ', findings: [] },
    { text: 'Paid ', findings: [1] },
    { text: '7', findings: [0, 1] },
    { text: ' of 9.', findings: [1] },
  ]);
});

const CONTEXT =
  'The Kestrel bridge opened on 4 May 1998. It is 412 meters long and was designed by Maria Lund. The bridge carries two lanes and a path for cyclists. Tolls were abolished in 2011.';

test('a statement that no passage supports raises the risk, and what is unsupported is named', () => {
  const good = scoreEvidence({
    answer: 'The bridge opened on 4 May 1998 and is 412 meters long.',
    retrievedContext: CONTEXT,
  });
  const bad = scoreEvidence({
    answer: 'Tolls were abolished in 2019 by Governor Hansen.',
    retrievedContext: CONTEXT,
  });
  assert.ok(good && bad);
  assert.equal(good.level, 'low');
  assert.ok(bad.risk > good.risk + 0.3, `${bad.risk} ${good.risk}`);
  assert.deepEqual(good.findings, []);
  assert.ok(bad.findings.some(({ kind }) => kind.startsWith('unsupported_')));
  assert.equal(good.support, 1);
});

test('a short right answer in a long context is at low risk', () => {
  const filler = 'The valley has many farms, and its river floods in spring. '.repeat(60);
  const risk = (answer: string) =>
    scoreEvidence({ answer, retrievedContext: `${CONTEXT} ${filler} More people left after the flood.` })
      ?.risk ?? 0;
  assert.equal(risk('The bridge opened on 4 May 1998.') < 0.35, true);
});

test('a number that an answer cites is neither supported nor unsupported', () => {
  const plain = scoreEvidence({
    answer: 'The Kestrel bridge opened on 4 May 1998. The bridge carries two lanes.',
    retrievedContext: CONTEXT,
  });
  const cited = scoreEvidence({
    answer:
      '1. The Kestrel bridge opened on 4 May 1998 (Passage 1).\n2. The bridge carries two lanes [3, 5].',
    retrievedContext: CONTEXT,
  });
  assert.ok(plain && cited);
  assert.deepEqual(cited.findings, []);
  assert.equal(cited.support, 1);
  assert.equal(cited.level, plain.level);
  const wrong = scoreEvidence({
    answer: 'The Kestrel bridge is 512 meters long (Passage 1).',
    retrievedContext: CONTEXT,
  });
  assert.deepEqual(
    wrong?.findings.map(({ kind, start, end }) => [kind, start, end]),
    [['unsupported_number', 22, 25]],
  );
});

test('a number is found whatever is written onto it, and a wrong one is not', () => {
  const retrievedContext =
    'Ada Lund, 27, ran the 15 km course on 18 May. The club (1708 -- 1765) spent £2,980,815,The mayor said.';
  const findings = (answer: string) => scoreEvidence({ answer, retrievedContext })?.findings ?? [];
  assert.deepEqual(
    findings('The 27-year-old ran 15km on May 18th. The club of 1708-1765 spent £2,980,815.'),
    [],
  );
  const wrong = 'The 28-year-old ran 16km on May 19th. The club of 1708-1766 spent £2,980,816.';
  assert.deepEqual(
    findings(wrong).map(({ start, end }) => wrong.slice(start, end)),
    ['28', '16', '19', '1766', '2,980,816'],
  );
});

test('a line that leads to the next ones is no statement', () => {
  const scores = ['', 'Here is a concise overview of the passage:\n\n', '**Zusammenfassung:**\n'].map(
    (lead) => scoreEvidence({ answer: `${lead}The bridge opened on 4 May 1998.`, retrievedContext: CONTEXT }),
  );
  assert.deepEqual(scores[1], scores[0]);
  assert.deepEqual(scores[2], scores[0]);
});

test('a sentence that joins facts of two places is at higher risk than one of a single place', () => {
  const filler = 'The valley has many farms, and its river floods in spring. '.repeat(20);
  const risk = (between: string) =>
    scoreEvidence({
      answer: 'Jon Berg built the old harbor and painted two famous portraits.',
      retrievedContext: `Jon Berg built the old harbor. ${between}Lund painted two famous portraits. ${filler}`,
    })?.risk ?? 0;
  assert.ok(risk(filler) > risk('') * 1.3, `${risk(filler)} ${risk('')}`);
});

test('of two answers with the same share of unknown words the longer one is at higher risk', () => {
  const invented = ['Governor Hansen paid for the paint.', 'Engineers from Oslo tested every cable twice.'];
  const risk = (count: number) =>
    scoreEvidence({ answer: invented.slice(0, count).join(' '), retrievedContext: CONTEXT })?.risk ?? 0;
  assert.ok(risk(2) > risk(1));
});

test('a language without spaces is read by its characters', () => {
  const retrievedContext = '京都駅は1997年に完成した。設計者は原広司である。';
  const good = scoreEvidence({ answer: '京都駅は1997年に完成した。', retrievedContext });
  const bad = scoreEvidence({ answer: '大阪城は1583年に豊臣秀吉が築いた。', retrievedContext });
  assert.ok(good && bad);
  assert.ok(bad.risk > good.risk + 0.3, `${bad.risk} ${good.risk}`);
});

test('without tool calls and documents there is no score', () => {
  assert.equal(scoreEvidence({ prompt: 'Write a poem.', answer: 'I have written a poem.' }), undefined);
});

test('a large context is sampled, and the score says so', () => {
  const scores = scoreEvidence({ answer: 'The bridge is long.', retrievedContext: CONTEXT.repeat(1000) });
  assert.ok(scores?.sampled !== undefined && scores.sampled < 0.5);
});

const counted = (length: number, part: (i: number) => string): string => {
  let text = '';
  for (let i = 0; text.length < length; i++) text += part(i);
  return text;
};

test('hostile texts cost time in proportion to their length', () => {
  const hostile = [
    (n: number) => 'I have '.repeat(n / 7),
    (n: number) => '1'.repeat(n),
    (n: number) => '1,'.repeat(n / 2),
    (n: number) => 'a1'.repeat(n / 2),
    (n: number) => '-'.repeat(n),
    (n: number) => 'ist ge'.repeat(n / 6),
    (n: number) => '"a":'.repeat(n / 4),
    (n: number) => '$1.00 '.repeat(n / 6),
    (n: number) => 'W12345 '.repeat(n / 7),
    (n: number) => '了'.repeat(n),
    (n: number) => counted(n, (i) => `${i}个 `),
    (n: number) => counted(n, (i) => `${i * 7} km. `),
    (n: number) => counted(n, (i) => `W${100_000 + i} has been charged $${i}.37. `),
    (n: number) => '[[['.repeat(n / 3),
    (n: number) => 'based on the '.repeat(n / 13),
    (n: number) => 'based upon the information in the provided '.repeat(n / 43),
    (n: number) => 'the answer to your question "'.repeat(n / 29),
    (n: number) => '(passages 1, 2, 3 and '.repeat(n / 22),
    (n: number) => '\n '.repeat(n / 2),
    (n: number) => '1-'.repeat(n / 2),
    (n: number) => '1a'.repeat(n / 2),
    (n: number) => `${'a: '.repeat(60)}\n`.repeat(n / 181),
  ];
  const work = (make: (n: number) => string, n: number) => {
    const text = make(n);
    return cpuMs(() => {
      scoreEvidence({
        prompt: text,
        answer: text,
        retrievedContext: text,
        steps: [ok('cancel_order', text, text), ok('get', {}, text)],
      });
    });
  };
  for (const make of hostile) {
    work(make, 2000);
    const least = (n: number, runs: number) => Math.min(...Array.from({ length: runs }, () => work(make, n)));
    // Everything above the caps is cut, so 32 times the text must not take 32 times the time.
    const isBounded = (runs: number) => least(512_000, runs) < Math.max(60, least(16_000, runs) * 16);
    assert.ok(isBounded(1) || isBounded(3), make(12));
  }
});
