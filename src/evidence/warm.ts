import { setImmediate } from 'node:timers';
import { importScorer, loadScorer, scoreEvidence } from './scorer.ts';
import type { EvidenceInput } from './types.ts';

const RECORD = { id: 'W2466703', status: 'pending', price: 12.5, items: [{ name: 'lamp', available: true }] };
const call = (tool: string, result: unknown) => ({ tool, arguments: { id: 'W2466703' }, result });

/**
 * Short answers that meet most patterns: each one is little work, even where all of it is done for the first time. The
 * first ones are of one kind, since they cost the most.
 */
const ANSWERS: readonly EvidenceInput[] = [
  {
    answer: 'The bridge opened in 1998.',
    retrievedContext: 'The bridge of 412 meters opened on 4 May 1998.',
  },
  { answer: 'Hello there.', steps: [call('get_order', 'ok')] },
  {
    prompt: 'Book 3 pm.',
    answer: "You're in the queue. I've booked 3:30 PM on 4 May, and 60 % is left.",
    steps: [
      call('book_slot', {
        start: '2024-05-04T15:00',
        left_pct: 40,
        paid_by: 'Ana',
        is_paid: true,
        note: 'at noon',
      }),
    ],
  },
  {
    answer: "You're all set for 3 pm, and the email is out.",
    steps: [call('get_slots', '15:00, 30 minutes')],
  },
  { answer: 'Order W2466703 has been updated.', steps: [call('update_order', { status: 'ok' })] },
  { answer: 'I have found it for $12.50.', steps: [call('get_order', RECORD)] },
  { answer: 'Unfortunately it was not possible.', steps: [call('update_order', 'Error: not found')] },
  { answer: '订单已经取消了。', retrievedContext: '订单已经取消了，退款12元。' },
  { answer: '订单已经取消了，下午3点退款12元。', steps: [call('cancel_order', '已取消，退款12元, 15:00')] },
  {
    answer: 'Ich habe 3 Lampen für 12,50 € bestellt, am 4. Mai, aber 2 sind nicht verfügbar.',
    steps: [call('create_order', { count: 3, price: 12.5, ok: true }), call('get_order', [])],
  },
  {
    prompt: 'Change both orders, W2466703 and W2466704, please.',
    answer:
      'Both orders, W2466703 and W2466704, have been updated; 13 lamps cost $14.50, which is $2.00 more. I did not cancel anything. Your card was charged $12.50 on 5 May 2024.',
    retrievedContext: 'Order W2466703 costs $12.50 and has two lamps. It was placed in Paris on 4 May 2024.',
    steps: [call('get_order', RECORD), call('update_order', { ...RECORD, charged: 12.5 })],
  },
];

/** How often {@link LONG} is repeated, in turns that grow with what is compiled by then. */
const REPEATED = [4, 8, 12, 16, 24];
const LONG =
  'Order W2466703 has been updated for $12.25 to card 1042 at 15:30 on 4 May, 订单已经取消了，退款12元。 It was not sent. ';

/** A longer answer: it makes the engine compile what a first long answer would wait for. */
function longAnswer(times: number): EvidenceInput {
  const text = LONG.repeat(times);
  return {
    prompt: LONG,
    answer: text,
    retrievedContext: text.repeat(2),
    steps: [call('get_order', text), call('update_order', RECORD), call('get_order', { notes: [text] })],
  };
}

let warming: Promise<void> | undefined;

const STEPS: readonly (() => unknown)[] = [
  loadScorer,
  ...ANSWERS.map((answer) => () => scoreEvidence(answer)),
  ...REPEATED.map((times) => () => scoreEvidence(longAnswer(times))),
];

/**
 * Loads what scores answers and scores short ones once in a process, a step a turn of the loop, as soon as an answer is
 * to be expected. The patterns and functions are then compiled while the application waits for the model, not while the
 * first span ends. Only with `holds` does the process stay alive for it, so that a program that does nothing else can
 * wait. Never rejects: what fails here fails once more with an answer, where it is reported.
 */
export function warmEvidence({ holds = false }: { readonly holds?: boolean } = {}): Promise<void> {
  warming ??= new Promise((resolve) => {
    const take = (at: number): void => {
      const step = STEPS[at];
      if (step === undefined) {
        resolve();
        return;
      }
      const turn = setImmediate(() => {
        try {
          step();
        } catch {
          if (step === loadScorer) importScorer().then(() => take(at + 1), resolve);
          else resolve();
          return;
        }
        take(at + 1);
      });
      if (!holds) turn.unref();
    };
    take(0);
  });
  return warming;
}
