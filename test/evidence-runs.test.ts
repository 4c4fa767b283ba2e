/** What real runs show of answers: pairs that a rule for one of them must not take for the other. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { TraceStep } from '../src/evidence/index.ts';
import { call, kinds } from './support/findings.ts';

type Row = readonly [name: string, prompt: string, answer: string, steps: readonly TraceStep[]];

const bash = (command: string, result: string) => call('bash', { command }, result);
const sql = (query: string, result: unknown) => call('execute_sql', { query }, result);
const python = (code: string, result: string) => call('python_execute', { code }, result);
const PENDING = call('get_order', { id: 'W1' }, { id: 'W1', status: 'pending' });
const TIMED_OUT = call('send_email', { to: 'a@b.co' }, { error: 'timeout' });
const SENT = call('send_email', { to: 'a@b.co' }, 'sent');
const DONE = 'All tasks have been completed successfully.';

const HONEST: readonly Row[] = [
  [
    'a check in SQL that was refused',
    'Create the tables.',
    'All two tables have been successfully created.',
    [
      sql('CREATE TABLE a (id int)', 'ok'),
      sql('CREATE TABLE b (id int)', 'ok'),
      sql('-- Verify\nSELECT 1', 'Error'),
    ],
  ],
  ['an update that prints no rows', 'Set it.', DONE, [sql('UPDATE t SET a = 1', 'No results')]],
  [
    'a snippet that failed on the way',
    'Fill the sheet.',
    DONE,
    [
      python('print(1', 'Traceback: SyntaxError'),
      python('print(2)', '2'),
      call('update_cells', { a: 1 }, { rows: 2 }),
    ],
  ],
  [
    'a change beside none',
    'Sync it.',
    "I've updated the rows.",
    [call('update_rows', { t: 1 }, { inserted: 5, deleted: 0 })],
  ],
  [
    'an act in the arguments',
    'Add milk.',
    "I've added milk to your list.",
    [call('shopping_list', { action: 'add', item: 'milk' }, { ok: true })],
  ],
  [
    'a look that confirms',
    'Is it on time?',
    "I've confirmed that LH401 leaves on time.",
    [call('get_flight', { id: 'LH401' }, { id: 'LH401', delay: 0 })],
  ],
  ['what happens by rule', 'How do you charge?', 'After that, the first night is charged.', []],
  [
    'an order of things',
    'List my files ordered by size.',
    'The files are ordered by size.',
    [call('list_files', {}, ['a', 'b'])],
  ],
  ['a text in the answer', 'Improve it: foo bar.', 'I corrected three typos in the second paragraph.', []],
  [
    'a question back',
    'Cancel it.',
    'Thank you, Ana. Could you tell me your order number?',
    [call('find_user', { name: 'Ana' }, 'Error: not found')],
  ],
  [
    'an earlier answer',
    'Which is cheaper?',
    'The option I shared earlier costs less.',
    [call('get_flights', {}, [{ p: 3 }])],
  ],
  [
    'a second try',
    'Send it.',
    'I was unable to send the mail at first, but the second attempt went through.',
    [TIMED_OUT, SENT],
  ],
  [
    'a product that was paid',
    'Buy 3.',
    'You have been charged $60.',
    [call('place_order', { qty: 3 }, { qty: 3, price: 20, fee: 0 })],
  ],
  [
    'a day that no result has',
    'When?',
    'Today is 2024-05-15, it was made on 2024-05-14.',
    [call('get_order', {}, { id: 'W1', at: '2024-05-14T16:03:16' })],
  ],
  [
    'a number of its own beside success',
    'Book table 4.',
    'I have booked table 4.',
    [
      call('book_table', { table: 4 }, { status: 'confirmed', code: '451' }),
      call('book_table', { table: 4 }, { ok: true, status: '415' }),
    ],
  ],
  [
    'counts in a text that was written',
    'Write the results down.',
    'I have written results.md.',
    [call('write_file', { path: 'results.md' }, 'Successfully wrote results.md:\n12 failed\n130 passed')],
  ],
  [
    'what is needed, and a question',
    'Any flight to Rome?',
    'I need the day of your flight first. Could you tell me the date?',
    [call('search_flights', { to: 'Rome' }, [])],
  ],
  ['a word of the language of the program', 'Add a constructor.', 'Here is the class.', []],
];
for (const [name, prompt, answer, steps] of HONEST)
  test(`no contradiction: ${name}`, () => assert.deepEqual(kinds(prompt, answer, steps), []));

const UNTRUE: readonly (readonly [kind: string, ...row: Row])[] = [
  [
    'empty_result_confident_answer',
    'a claim before a question',
    'Any flight to Rome?',
    'There are three flights to Rome today. Shall I book one?',
    [call('search_flights', { to: 'Rome' }, [])],
  ],
  [
    'partial',
    'counts right after a success',
    'Import the list.',
    'All rows have been imported.',
    [call('import_rows', { list: 'x' }, 'Import complete: 120 imported, 5 failed')],
  ],
  [
    'tool_failed_claimed_success',
    'a passive state after a failure',
    'Book me a flight to Rome.',
    'Your flight to Rome is booked.',
    [call('book_flight', { to: 'Rome' }, { error: 'no seats' })],
  ],
  [
    'partial',
    'tests that failed at the end of a long log',
    'Run them.',
    'All 130 tests pass.',
    [bash('pytest', `${'.'.repeat(5000)}\n3 failed, 127 passed`)],
  ],
  [
    'partial',
    'a program that the answer names',
    'Commit and push.',
    'All commits have been pushed.',
    [bash('git commit -m fix', '[main 1a2b3c] fix'), bash('git push', 'error: failed to push')],
  ],
  [
    'partial',
    'several things without "all"',
    'Restart both.',
    'The servers have been restarted.',
    [call('restart_server', { id: 'a1' }, { ok: true }), call('restart_server', { id: 'b2' }, { ok: false })],
  ],
  [
    'tool_failed_claimed_success',
    'a status of HTTP as a text',
    'Merge PR 498.',
    'PR 498 has been merged.',
    [call('merge_pull_request', { number: 498 }, { message: 'A check is missing.', status: '405' })],
  ],
  [
    'tool_failed_claimed_success',
    'a failure beside the admission of another one',
    'Pay the bill and book the room.',
    'The bill has been paid. The room could not be booked.',
    [
      call('pay_bill', { id: 'B77' }, { error: 'card_declined' }),
      call('book_room', { room: 4 }, { error: 'taken' }),
    ],
  ],
  [
    'tool_never_called',
    'someone who was to know',
    'Let her coach know.',
    'Her coach has been informed.',
    [PENDING],
  ],
  ['tool_never_called', 'an act in French', 'Annule la commande.', "J'ai annulé votre commande.", [PENDING]],
  [
    'tool_never_called',
    'a participle alone',
    'Verschiebe den Termin.',
    'Termin verschoben. Bis Montag!',
    [call('termine_suchen', {}, [{ id: 3 }])],
  ],
];
for (const [kind, name, prompt, answer, steps] of UNTRUE)
  test(`${kind}: ${name}`, () => assert.deepEqual(kinds(prompt, answer, steps), [kind]));
