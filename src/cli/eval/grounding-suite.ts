/** Hand-written claims with evidence for G5, each with the expected verdict. */
import { checkSummary } from '../../policy/index.ts';
import { type CaseResult, result } from './case-result.ts';

const SOURCE = {
  doc_id: 'sp-001',
  query: 'the board approved the merger',
  content:
    '# PII Logging Policy\n- Never log secrets\n- Mask emails\n- Logs: 30 days\n\nDo not share keys. The team’s portal is open.\n',
};

const QUOTES: readonly (readonly [string, string, string, string])[] = [
  ['whole_item', 'Mask emails', 'Mask emails', 'accepted'],
  ['negated_item', 'Never log secrets', 'Never log secrets', 'accepted'],
  ['paraphrase', 'Emails are masked', 'Mask emails', 'accepted'],
  ['over_two_lines', 'Never log secrets', 'Never log secrets\n- Mask emails', 'accepted'],
  ['no_break_space', 'Mask emails', 'Mask\u00a0emails', 'accepted'],
  ['straight_apostrophe', "The team's portal is open", "The team's portal is open.", 'accepted'],
  ['absent', 'Encrypt all logs', 'Encrypt all logs', 'evidence_not_found'],
  ['one_letter', 'Passwords are stored', 'a', 'evidence_too_short'],
  ['punctuation', 'Audit passed', '{', 'evidence_too_short'],
  ['key', 'Mask emails', '"content":', 'evidence_not_found'],
  ['cut_word', 'Mask emails', 'ask emails', 'evidence_cut_word'],
  ['dropped_negation', 'Policy says to log secrets', 'log secrets', 'evidence_too_short'],
  ['dropped_do_not', 'Share keys', 'share keys. The team’s portal is open.', 'evidence_negated_context'],
  ['number', 'Logs are kept 300 days', 'Logs: 30 days', 'claim_number_unsupported'],
  ['name', 'CEO resigned', 'Mask emails', 'claim_name_unsupported'],
  ['unrelated', 'bananas grow quickly', 'Mask emails', 'claim_unrelated'],
  ['turned_around', 'Log secrets', 'Never log secrets', 'claim_polarity'],
  ['echo', 'the board approved the merger', 'the board approved the merger', 'evidence_echo'],
  ['zero_width', 'Mask emails', 'Mask\u200b emails', 'evidence_invisible_character'],
  ['look_alike', 'Mask emails', 'Mask em\u0430ils', 'evidence_not_found'],
  ['capitals', 'mask emails', 'mask emails', 'evidence_case_mismatch'],
];

/** G5. */
export function groundingSuite(): CaseResult[] {
  const cases = QUOTES.map(([name, claim, evidence, expected]) => {
    const summary = { type: 'summary', bullets: [{ claim, evidence }], risks: [], recommendations: [] };
    return result(name, expected, checkSummary(SOURCE, summary).reasonCode);
  });
  const good = { claim: 'Mask emails', evidence: 'Mask emails' };
  const shapes: readonly (readonly [string, unknown, string])[] = [
    [
      'six_bullets',
      { type: 'summary', bullets: Array.from({ length: 6 }, () => good), risks: [], recommendations: [] },
      'summary_invalid',
    ],
    [
      'one_quote_for_all',
      { type: 'summary', bullets: [good, good, good], risks: [], recommendations: [] },
      'evidence_reused',
    ],
    [
      'extra_key',
      { type: 'summary', bullets: [{ ...good, note: 'x' }], risks: [], recommendations: [] },
      'summary_invalid',
    ],
    [
      'long_claim',
      { type: 'summary', bullets: [{ ...good, claim: 'mask emails '.repeat(20) }] },
      'claim_too_long',
    ],
    ['empty', { type: 'summary', bullets: [], risks: [], recommendations: [] }, 'accepted'],
    ['prose', 'All is well.', 'summary_invalid'],
  ];
  return [
    ...cases,
    ...shapes.map(([name, summary, expected]) =>
      result(name, expected, checkSummary(SOURCE, summary).reasonCode),
    ),
  ];
}
