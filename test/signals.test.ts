import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { computeEvidence } from '../src/evidence/index.ts';
import {
  answerHash,
  computeSignals,
  normalizedPromptHash,
  normalizePrompt,
  numericVarianceScore,
  resolveSignalConfig,
  type SignalInput,
  type SignalOptions,
  selfConsistencyScore,
  type Verifier,
} from '../src/signals/index.ts';
import { readSignalRows } from './support/signal-rows.ts';

const CALL = {
  prompt: 'Refund invoice #92311 of 2026-02-10T12:01:00Z?',
  answer: 'I think 100 or 120 was sent.',
  retrievedContext: 'Refund of 120 failed.',
  secondaryAnswer: 'I think 110 was sent.',
  toolResultSummary: 'Error: declined',
};

function compute(
  options: SignalOptions = {},
  input: SignalInput & Parameters<typeof computeEvidence>[0] = CALL,
) {
  const config = resolveSignalConfig({ verifier: 'heuristic', ...options });
  return computeSignals(input, config, computeEvidence(input, config));
}

test('the example of the documentation normalizes as it says', () => {
  const prompt =
    'Invoice #92311 at 2026-02-10T12:01:00Z for customer 1002 uuid 550e8400-e29b-41d4-a716-446655440000';
  assert.equal(normalizePrompt(prompt), 'invoice #<number> at <timestamp> for customer <number> uuid <uuid>');
});

test('every signal of a call is computed, by hand', () => {
  const signals = compute();
  // Tokens: {i, think, 100, or, 120, was, sent}, {refund, of, 120, failed}, {i, think, 110, was, sent}.
  assert.equal(signals.grounding_score, 1 / 10);
  assert.equal(signals.self_consistency_score, 4 / 8);
  // |100 - 110| / 100; the second number of the answer has nothing beside it.
  assert.equal(signals.numeric_variance_score, 0.1);
  assert.equal(signals.tool_claim_mismatch, true);
  assert.equal(signals.verifier_score, 0.75);
  assert.equal(signals.verifier_reason, 'hedging_language');
  const risk = 0.9 * 0.3 + 0.5 * 0.25 + 0.25 * 0.25 + 0.1 * 0.1 + 1 * 0.1;
  assert.ok(Math.abs((signals.hallucination_risk_score ?? 0) - risk) < 1e-12);
  assert.equal(signals.hallucination_risk_level, 'high');
  assert.equal(signals.prompt_size_chars, CALL.prompt.length);
});

test('a second answer that is given counts unless switched off; its weight then goes to the others', () => {
  const signals = compute({ enableSelfConsistency: false });
  assert.equal(signals.self_consistency_score, undefined);
  const risk = (0.9 * 0.3 + 0.25 * 0.25 + 0.1 * 0.1 + 1 * 0.1) / 0.75;
  assert.ok(Math.abs((signals.hallucination_risk_score ?? 0) - risk) < 1e-12);
});

test('the verifier that is named counts in the composite: the evidence where there is some, else the heuristic', () => {
  const steps = [{ tool: 'send_email', arguments: {}, result: 'timeout', isError: true }];
  const call = { prompt: 'Send it.', answer: 'The mail has been sent.', steps };
  const evidence = compute({ verifier: 'evidence' }, call);
  const heuristic = compute({ verifier: 'heuristic' }, call);
  assert.equal(evidence.evidence_risk_level, 'high');
  assert.equal(evidence.verifier_score, 1 - (evidence.evidence_risk_score ?? 0));
  assert.equal(evidence.verifier_reason, 'tool_failed_claimed_success');
  assert.equal(heuristic.verifier_score, 1);
  assert.equal(heuristic.evidence_risk_score, evidence.evidence_risk_score);
  assert.ok((evidence.hallucination_risk_score ?? 0) > (heuristic.hallucination_risk_score ?? 1));
  const without = { prompt: call.prompt, answer: call.answer };
  assert.deepEqual(compute({ verifier: 'evidence' }, without), compute({}, without));
});

test('without its evidence an answer has no score of the evidence verifier, but the reason; other verifiers score it', () => {
  const scoreOf = (options: SignalOptions) => computeSignals(CALL, resolveSignalConfig(options), 'failed');
  const { verifier_score: score, verifier_reason: reason, ...rest } = scoreOf({ verifier: 'evidence' });
  assert.deepEqual([score, reason], [undefined, 'evidence_failed']);
  assert.deepEqual(
    Object.keys(rest).filter((name) => name.startsWith('evidence_')),
    [],
  );
  assert.equal(scoreOf({ verifier: 'heuristic' }).verifier_reason, 'hedging_language');
  assert.equal(scoreOf({ verifier: 'evidence', enableVerifier: false }).verifier_reason, undefined);
});

test('each toggle leaves out its fields and nothing else', () => {
  const all = compute();
  const fields = {
    enablePromptHash: ['prompt_hash', 'normalized_prompt_hash', 'answer_hash'],
    enableGroundingScore: ['grounding_score'],
    enableNumericVariance: ['numeric_variance_score'],
    enableToolClaimMismatch: ['tool_claim_mismatch'],
    enableVerifier: ['verifier_score', 'verifier_reason'],
    enableSelfConsistency: ['self_consistency_score'],
    enableEvidence: ['evidence_risk_score', 'evidence_risk_level', 'evidence_support', 'evidence_findings'],
  };
  for (const [toggle, names] of Object.entries(fields)) {
    const left = compute({ [toggle]: false });
    const expected = Object.keys(all).filter((name) => !names.includes(name));
    assert.deepEqual(Object.keys(left), expected, toggle);
    for (const name of expected) {
      if (name.startsWith('hallucination_')) continue;
      assert.equal(left[name as keyof typeof left], all[name as keyof typeof all], `${toggle}, ${name}`);
    }
  }
  const none = Object.fromEntries(Object.keys(fields).map((toggle) => [toggle, false]));
  assert.deepEqual(Object.keys(compute(none)), ['prompt_size_chars']);
});

test('without an answer there is only the identity of the prompt, without a prompt only the rest', () => {
  const { answer: _, ...unanswered } = CALL;
  assert.deepEqual(Object.keys(compute({}, unanswered)), [
    'prompt_hash',
    'normalized_prompt_hash',
    'prompt_size_chars',
  ]);
  const { prompt, ...unasked } = CALL;
  assert.equal(prompt, CALL.prompt);
  const names = Object.keys(compute({}, unasked));
  assert.ok(names.includes('hallucination_risk_score') && !names.some((name) => name.includes('prompt')));
  assert.deepEqual(compute({}, {}), {});
});

test('an empty answer is an answer', () => {
  const signals = compute({}, { prompt: '', answer: '' });
  assert.equal(signals.answer_hash, createHash('sha256').digest('hex'));
  assert.equal(signals.verifier_score, 1);
  assert.equal(signals.prompt_size_chars, 0);
});

test('weights, levels and the grounding threshold can be set', () => {
  const weights = { grounding: 1, consistency: 0, verifier: 0, numeric: 0, toolMismatch: 0 };
  assert.ok(Math.abs((compute({ weights }).hallucination_risk_score ?? 0) - 0.9) < 1e-12);
  assert.equal(
    compute({ enableSelfConsistency: false, levels: { medium: 0.9, high: 1 } }).hallucination_risk_level,
    'low',
  );
  assert.equal(compute({ lowGroundingThreshold: 0.11 }).verifier_reason, 'hedging_language,low_grounding');
  // What is there weighs nothing, so there is nothing to say.
  const nothing = compute({ weights: { verifier: 0, numeric: 0 } }, { answer: 'x' });
  assert.equal(nothing.hallucination_risk_score, undefined);
  assert.equal(nothing.hallucination_risk_level, undefined);
});

test('levels begin at their bounds', () => {
  const weights = { grounding: 0, consistency: 0, verifier: 1, numeric: 0, toolMismatch: 0 };
  const levelAt = (risk: number) => {
    const verifier = { score: () => ({ score: 1 - risk, reason: '' }) };
    return compute({ weights, verifier, levels: { medium: 0.25, high: 0.5 } }).hallucination_risk_level;
  };
  assert.deepEqual([0, 0.2499, 0.25, 0.4999, 0.5, 1].map(levelAt), [
    'low',
    'low',
    'medium',
    'medium',
    'high',
    'high',
  ]);
});

test('a verifier of the user takes the place of the heuristic', () => {
  const seen: unknown[] = [];
  const verifier: Verifier = {
    score(input) {
      seen.push(input);
      // Verifiers may use the other scores while they are at it.
      assert.equal(selfConsistencyScore('a b', 'b c'), 1 / 3);
      return { score: 0.5, reason: 'half' };
    },
  };
  const signals = compute({ verifier });
  assert.deepEqual([signals.verifier_score, signals.verifier_reason], [0.5, 'half']);
  assert.deepEqual(seen, [
    { prompt: CALL.prompt, answer: CALL.answer, context: CALL.retrievedContext, groundingScore: 0.1 },
  ]);
  assert.equal(signals.grounding_score, 0.1);
});

test('a verifier that fails costs only its own fields, and the failure is reported', () => {
  const { verifier_score: _, verifier_reason: __, ...others } = compute();
  const broken: unknown[] = [
    () => {
      throw new Error('broken');
    },
    () => ({ score: Number.NaN, reason: 'x' }),
    () => ({ score: 87, reason: 'x' }),
    () => ({ score: '1', reason: 'x' }),
    () => Promise.resolve({ score: 1, reason: 'x' }),
    () => undefined,
  ];
  for (const score of broken) {
    const errors: unknown[] = [];
    const onVerifierError = (error: unknown) => {
      errors.push(error);
      throw new Error('ignored');
    };
    const signals = compute({ verifier: { score } as Verifier, onVerifierError });
    assert.deepEqual(Object.keys(signals), Object.keys(others));
    assert.equal(errors.length, 1);
  }
});

test('an option that cannot be used is refused by name, with the value', () => {
  for (const [options, message] of [
    [{ enableVerifier: 'no' }, /enableVerifier.*no \(string\)/],
    [{ lowGroundingThreshold: 2 }, /lowGroundingThreshold.*0 to 1.*2/],
    [{ weights: { numeric: -1 } }, /weights\.numeric.*-1/],
    [{ weights: { numeric: Number.NaN } }, /weights\.numeric.*NaN/],
    [{ weights: { grounding: 0, consistency: 0, verifier: 0, numeric: 0, toolMismatch: 0 } }, /weights/],
    [{ levels: { medium: 0.5 } }, /levels\.medium.*0\.5 and 0\.35/],
    [{ verifier: {} }, /verifier.*score/],
    [{ verifier: null }, /verifier/],
    [{ onVerifierError: 1 }, /onVerifierError/],
  ] as const) {
    assert.throws(() => resolveSignalConfig(options as never), { code: 'INVALID_OPTION', message });
  }
});

test('an answer is scored alike whether or not its words are compared with others, short or long', () => {
  const words = [
    'maybe',
    'Definitely',
    'unsure',
    'cannot  sure',
    'not\nsure',
    'I think',
    'think',
    'ab',
    'presents',
    'im',
  ];
  const compare = (answer: string) => {
    const alone = compute({}, { answer, toolResultSummary: 'Error: declined' });
    const compared = compute(
      { enableGroundingScore: false, lowGroundingThreshold: 0 },
      { answer, retrievedContext: 'Nothing of it.', toolResultSummary: 'Error: declined' },
    );
    const { verifier_score, verifier_reason, tool_claim_mismatch, answer_hash } = compared;
    assert.deepEqual(
      [alone.verifier_score, alone.verifier_reason, alone.tool_claim_mismatch, alone.answer_hash],
      [verifier_score, verifier_reason, tool_claim_mismatch, answer_hash],
      answer,
    );
  };
  for (const first of words) {
    for (const second of words) {
      for (const between of [' ', '-', '', ' 12 ', ' \u00e9', ' x'.repeat(200)])
        compare(first + between + second);
    }
  }
});

test('the local verifier objects to hedging, absolute claims and little grounding', () => {
  const verdict = (answer: string, retrievedContext?: string) => {
    const input = { answer, ...(retrievedContext === undefined ? {} : { retrievedContext }) };
    const signals = compute({ lowGroundingThreshold: 0.5 }, input);
    return [signals.verifier_score, signals.verifier_reason];
  };
  assert.deepEqual(verdict('a b', 'b c'), [0.75, 'low_grounding']);
  assert.deepEqual(verdict('a b'), [1, 'ok']);
  const all = 'hedging_language,absolute_claims,low_grounding';
  assert.deepEqual(verdict('Definitely, I think', ''), [0.25, all]);
});

test('a lone surrogate counts as U+FFFD in hashes and as one character', () => {
  const hash = createHash('sha256').update('a\ufffdb').digest('hex');
  assert.equal(compute({}, { prompt: 'a\ud800b' }).prompt_hash, hash);
  assert.equal(answerHash('a\udc00b'), hash);
  assert.equal(compute({}, { prompt: 'a\ud800b🙂' }).prompt_size_chars, 4);
});

test('a text that was put together from pieces, or cut out of another, is hashed as what it says', () => {
  let rope = '';
  for (let i = 0; i < 2000; i += 1) rope += i % 7 === 0 ? `é${i}` : ` Word${i}`;
  const flat = Buffer.from(rope).toString();
  const hash = createHash('sha256').update(flat).digest('hex');
  assert.equal(compute({}, { prompt: rope }).prompt_hash, hash);
  assert.equal(normalizedPromptHash(rope.slice(5, -5)), normalizedPromptHash(flat.slice(5, -5)));
});

test('texts of every length around the steps of the scanners are read to their end', () => {
  for (let length = 0; length < 200; length += 1) {
    const word = 'aB1'.repeat(70).slice(0, length);
    assert.equal(normalizePrompt(` ${word} `), word.toLowerCase(), `${length}`);
    assert.equal(selfConsistencyScore(word, word.toUpperCase()), length === 0 ? 0 : 1, `${length}`);
    const spaced = `${' '.repeat(length)}x 7`;
    assert.equal(normalizePrompt(spaced), 'x <number>');
  }
});

test('replacements that outgrow the text have their room', () => {
  assert.equal(normalizePrompt('1 '.repeat(100_000)), '<number> '.repeat(100_000).trim());
  assert.equal(normalizePrompt('İ'.repeat(50_000)), 'i̇'.repeat(50_000));
  assert.equal(normalizePrompt('Ⱥ'.repeat(50_000)), 'ⱥ'.repeat(50_000));
});

test('the single functions give what the computation of all gives', () => {
  const rows = readSignalRows(new URL('../../test/fixtures/signals.jsonl', import.meta.url));
  assert.ok(rows.length >= 400);
  for (const { input } of rows) {
    const prompt = input.prompt ?? '';
    const answer = input.answer ?? '';
    const retrievedContext = input.retrieved_context ?? undefined;
    const secondaryAnswer = input.secondary_answer ?? undefined;
    const toolResultSummary = input.tool_result_summary ?? undefined;
    const signals = computeSignals(
      { prompt, answer, retrievedContext, secondaryAnswer, toolResultSummary },
      resolveSignalConfig(),
    );
    assert.deepEqual(
      {
        normalized_prompt_hash: normalizedPromptHash(prompt),
        answer_hash: answerHash(answer),
        self_consistency_score: secondaryAnswer && selfConsistencyScore(answer, secondaryAnswer),
        numeric_variance_score: numericVarianceScore(answer, secondaryAnswer),
      },
      {
        normalized_prompt_hash: signals.normalized_prompt_hash,
        answer_hash: signals.answer_hash,
        self_consistency_score: secondaryAnswer && signals.self_consistency_score,
        numeric_variance_score: signals.numeric_variance_score,
      },
      JSON.stringify(input),
    );
  }
});

test('the mean of numbers of one sign is right to the last bit or next to it, however large they are', () => {
  // 10 copies of 0.1: the spread is 0 only if the mean is not off by the sum's rounding.
  assert.equal(numericVarianceScore(Array.from({ length: 10 }, () => '0.1').join(' ')), 0);
  const huge = `1${'0'.repeat(308)}`;
  assert.equal(numericVarianceScore(`${huge} ${huge}`), 0);
  assert.equal(numericVarianceScore(`${huge} -${huge}`), 1);
  const many = Array.from({ length: 100_000 }, () => '1000000000.1').join(' ');
  assert.ok(Math.abs(numericVarianceScore(`${many} 1000000000.2`) - 1e-10) < 1e-16);
});
