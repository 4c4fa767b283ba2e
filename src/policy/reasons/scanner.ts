/**
 * Detectors of instruction-like text in requests, tool descriptions and tool results. They raise risk and may ask for
 * approval; they never decide on their own, because every such detector misses most attacks and flags benign texts.
 * docs/threat-model.md gives recall and false positives of each on public sets.
 */
import { plainText } from './plain-text.ts';

export interface ScanFinding {
  readonly detector: string;
  /** 0..1: how much a finding of this detector counts alone. */
  readonly weight: number;
}

/** Longest text that is scanned, in UTF-16 units; the rest is ignored. */
const MAX_SCANNED = 65_536;

const WORDS = "(?:[a-z'-]{1,20} ){0,4}";

const DETECTORS: readonly { readonly id: string; readonly weight: number; readonly pattern: RegExp }[] = [
  {
    id: 'override-instructions',
    weight: 0.8,
    pattern: new RegExp(
      `\\b(?:ignore|disregard|forget|override|bypass) ${WORDS}(?:instructions?|prompts?|rules|guidelines|directives|context)\\b`,
    ),
  },
  {
    id: 'reveal-prompt',
    weight: 0.7,
    pattern: new RegExp(
      `\\b(?:reveal|print|repeat|show|output|leak|tell me|what (?:is|are)) ${WORDS}(?:system prompt|initial prompt|hidden prompt|hidden instructions|instructions above|secret key)\\b`,
    ),
  },
  {
    id: 'role-marker',
    weight: 0.6,
    pattern:
      /(?:^|\n| )(?:###? ?(?:system|instruction)|<\/?(?:system|important|information|inst|instructions?)>|\[\/?inst\]|\(system[_ ]message\)|<\|im_start\|>)/,
  },
  { id: 'hidden-comment', weight: 0.5, pattern: /<!-- ?(?:assistant|ai|agent|system|llm|model)\b/ },
  {
    id: 'addressed-to-assistant',
    weight: 0.5,
    pattern:
      /\b(?:important message (?:from|to)|attention,? (?:ai|assistant|llm)|note to (?:the )?(?:ai|assistant)|you are now|from now on,? you|pretend (?:to be|you are)|act as (?:an? )?(?:unrestricted|dan)|do anything now)\b/,
  },
  {
    id: 'concealment',
    weight: 0.6,
    pattern:
      /\b(?:do not (?:mention|tell|inform|reveal)|don't (?:mention|tell)|without (?:telling|informing|mentioning)|keep this (?:secret|hidden)|unnoticed|without detection|discreetly)\b/,
  },
  {
    id: 'before-you-answer',
    weight: 0.4,
    pattern: new RegExp(
      `\\b(?:before|prior to) (?:you can |you )?(?:solve|solving|answer|answering|calling|using|performing) ${WORDS}(?:task|tool|question|request|you must|first)`,
    ),
  },
  {
    id: 'exfiltration',
    weight: 0.5,
    pattern: /(?:~\/\.ssh|id_rsa|\/etc\/passwd|\.env\b|aws_secret|curl .{0,80}https?:\/\/|webhook\.site)/,
  },
];

/** Characters that hide text from people and show it to models. */
const INVISIBLE = /[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

/** The findings of all detectors in a text. */
export function scanText(text: string): readonly ScanFinding[] {
  const raw = text.length > MAX_SCANNED ? text.slice(0, MAX_SCANNED) : text;
  const plain = plainText(raw);
  const findings: ScanFinding[] = [];
  for (const { id, weight, pattern } of DETECTORS)
    if (pattern.test(plain)) findings.push({ detector: id, weight });
  if (INVISIBLE.test(raw)) findings.push({ detector: 'invisible-characters', weight: 0.5 });
  return findings;
}
