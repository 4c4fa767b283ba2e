import { setImmediate } from 'node:timers';
import { importScorer, loadScorer, scoreEvidence } from './scorer.ts';
import type { EvidenceInput } from './types.ts';

const RECORD = { id: 'W2466703', status: 'pending', price: 12.5, items: [{ name: 'lamp', available: true }] };
const NOTE =
  'Order W2466703 has been updated for $12.25 to card 1042 at 3:30 PM on 4 May, and 60 % is left. ';
const OTHER_NOTE = '订单已经取消了，下午3点退款12元。 Ich habe 3 Lampen bestellt. It was not sent. ';

/**
 * Answers that meet most patterns, the shortest first: each one is little work, even where all of it is done for the first
 * time. The long ones make the engine compile what a first long answer would wait for.
 */
const ANSWERS: readonly EvidenceInput[] = [
  { answer: 'Hello there.', retrievedContext: 'Hello there, on 4 May.' },
  { answer: 'Hello there.', steps: listCalls('ok') },
  { answer: NOTE, steps: listCalls('15:00, 30 minutes') },
  { answer: OTHER_NOTE, retrievedContext: OTHER_NOTE },
  { answer: OTHER_NOTE, steps: listCalls('已取消，退款12元, 15:00') },
  { answer: 'Unfortunately it was not possible.', steps: listCalls('Error: not found') },
  { prompt: NOTE, answer: NOTE + OTHER_NOTE, retrievedContext: NOTE, steps: listCalls(RECORD) },
  ...[4, 8, 12, 16, 24].map((times) => toLong((NOTE + OTHER_NOTE).repeat(times))),
];

function listCalls(result: unknown): EvidenceInput['steps'] {
  return ['get_order', 'update_order'].map((tool) => ({ tool, arguments: { id: 'W2466703' }, result }));
}

function toLong(text: string): EvidenceInput {
  return {
    prompt: NOTE,
    answer: text,
    retrievedContext: text.repeat(2),
    steps: [...(listCalls(RECORD) ?? []), ...(listCalls({ notes: [text] }) ?? [])],
  };
}

let warming: Promise<void> | undefined;

const STEPS: readonly (() => unknown)[] = [
  loadScorer,
  ...ANSWERS.map((answer) => () => scoreEvidence(answer)),
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
