/**
 * G0: requests that are refused before any server is asked for its tools.
 *
 * This gate is narrow on purpose. It blocks what the seed's documents say must be blocked, where an intent meets a
 * target ("hack" + "a website"), not words on their own: "ransomware playbook" and "suicide prevention hotline" are
 * everyday requests in a company. The allowlist, the schemas and the rules make the gate safe, not this. Findings of the
 * detectors below are reported as risk.
 */

import { isWellFormed } from '../json/index.ts';
import type { InputDocument } from './policy-file.ts';
import {
  plainText,
  type ReasonCode,
  type ScanFinding,
  scanText,
  withoutQuotations,
} from './reasons/index.ts';

export interface InputVerdict {
  readonly allowed: boolean;
  readonly reasonCode: ReasonCode | undefined;
  readonly message: string;
  /** The rules that block, or would block in watch mode. */
  readonly ruleIds: readonly string[];
  /** Findings of the detectors. They never block. */
  readonly findings: readonly ScanFinding[];
}

const DEFAULT_MAX_CHARS = 32_768;

/** Up to four words between a verb and its target. */
const GAP = "(?:[a-z0-9'-]{1,24} ){0,4}";
const TARGET =
  '(?:web ?)?(?:sites?|pages?|accounts?|servers?|databases?|systems?|networks?|computers?|phones?|laptops?|e-?mails?|inbox|' +
  'wi-?fi|routers?|bank|company|tenant|sharepoint|domain|portal|cameras?|facebook|instagram|compte|serveur|cuenta|' +
  'sitio|servidor|konto|webseite|rechner|conto|conta|sito)';
const SECRET =
  '(?:passwords?|passwd|credentials?|secrets?|api[ _-]?keys?|access (?:keys?|tokens?)|private keys?|tokens?|' +
  'credit cards?|card (?:numbers?|dumps?)|connection strings?)';
const STORE =
  '(?:environment|env(?:ironment)? ?var(?:iable)?s?|env|memory|process|keychain|vault|key ?store|\\.env|server config\\w{0,10}|' +
  'host|config(?:uration)? files?|shell history)';
const MALICE =
  '(?:malware|ransomware|spyware|keyloggers?|trojans?|rootkits?|botnets?|computer (?:virus|worm)|phishing (?:e-?mails?|pages?|sites?|kits?|messages?|campaigns?))';
const WEAPON =
  '(?:pipe |nail |dirty |car |fertilizer |home-?made )?(?:bombs?|detonators?|explosives?|explosive devices?|ieds?|grenades?|molotov cocktails?)';
/** `bath bomb`, `photo bomb`: harmless uses of the word. */
const HARMLESS_BOMB = '(?:bath|photo|seed|glitter|cocoa|chocolate|stink|logic|time|jager|cherry) ?bombs?';
const RULES =
  '(?:rules?|instructions?|polic(?:y|ies)|safety(?: checks?| rules?| guidelines?)?|safeguards?|guardrails?|restrictions?|checks|allow ?list)';

/** Each rule is an intent and its target, with the words of one sentence between them. */
const RULES_IN_ORDER: readonly { readonly id: string; readonly pattern: RegExp }[] = [
  { id: 'hack-target', pattern: new RegExp(`\\bhack(?:ing)? (?:in ?to )?${GAP}${TARGET}\\b`) },
  {
    id: 'hack-target-translated',
    pattern: new RegExp(`\\b(?:pirater|hackear|hacker|hacken|hackerare|invadir|craquer) ${GAP}${TARGET}\\b`),
  },
  {
    id: 'exploit-vulnerability',
    pattern: new RegExp(
      `\\b(?:how (?:to|do i|can i|do you|would i)|explain how to|show me how to|teach me to|help me) exploit ${GAP}(?:buffer|overflows?|vulnerabilit\\w{1,4}|injections?|cve\\b|zero-?days?|flaws?|servers?|systems?)`,
    ),
  },
  {
    id: 'make-malware',
    pattern: new RegExp(
      `\\b(?:write|create|build|make|code|develop|generate|craft|deploy|spread) ${GAP}${MALICE}\\b`,
    ),
  },
  {
    id: 'make-weapon',
    pattern: new RegExp(
      `\\b(?:build|make|assemble|construct|buy|plant|detonate|set off) (?:a |an |some |the |my |your )?${WEAPON}\\b`,
    ),
  },
  {
    id: 'self-harm',
    pattern:
      /\b(?:(?:kill|hang|drown|hurt|cut) myself|end my (?:own )?life|(?:want|how) to (?:die by|commit) suicide|(?:i|i'll|going to|gonna) commit suicide|take my own life)\b/,
  },
  {
    id: 'steal-secrets',
    pattern: new RegExp(
      `\\b(?:steal|stealing|crack|harvest|exfiltrate|phish)(?: for)? ${GAP}(?:${SECRET}|cookies|session)\\b`,
    ),
  },
  { id: 'card-dump', pattern: /\bcredit card dumps?\b/ },
  {
    id: 'secrets-from-host',
    pattern: new RegExp(
      `\\b(?:return|print|show|list|dump|reveal|read|send|give me|output|display|leak|echo|get) ${GAP}${SECRET} (?:values? )?(?:from|in|inside|out of|stored in) ${GAP}${STORE}`,
    ),
  },
  {
    id: 'override-then-act',
    pattern: new RegExp(
      `\\b(?:ignore|disregard|bypass|override|forget|skip|disable|turn off) (?:[a-z'-]{1,20} ){0,3}${RULES}\\b[,;:.]? ` +
        "(?:and|then|to|so|and then|&) ?(?:then )?(?:[a-z'-]{1,20} )?" +
        `(?:call|use|run|invoke|execute|open|access|delete|drop|enable|trigger) ${GAP}(?:tools?|functions?|commands?|servers?|apis?|docs?|documents?|records?|everything|database)`,
    ),
  },
  {
    id: 'reveal-secrets-unasked',
    pattern: new RegExp(
      `\\b(?:return|reveal|show|print|leak|dump) (?:the |all |all the |your |any |every )?(?:tool|system|internal|hidden|admin|server) ${SECRET}`,
    ),
  },
];

/** Words before a match that turn it into its opposite: "how do we prevent people who hack a website". */
const GUARDED =
  /\b(?:prevent|preventing|prevention|protect|protecting|protection|detect|detecting|detection|defend|defending|against|stop|stopping|avoid|block|blocking|policy (?:on|for|about)|report(?:ing)?|training|awareness|tried to|attempt(?:s|ed)? to|not|never|don't) (?:[a-z'-]{1,20} ){0,5}$/;

/**
 * Judges a request.
 * @param rules the policy's `input` part; `watch` mode reports and lets pass.
 */
export function checkInput(request: string, rules: InputDocument = {}): InputVerdict {
  const maxChars = rules.max_chars ?? DEFAULT_MAX_CHARS;
  if (request.trim() === '' || request.length > maxChars || !isWellFormed(request)) {
    const message = `A request is well-formed text of 1 to ${maxChars} characters`;
    return { allowed: false, reasonCode: 'input_ill_formed', message, ruleIds: [], findings: [] };
  }
  const text = plainText(request);
  const spoken = withoutQuotations(text);
  const ruleIds = RULES_IN_ORDER.filter(({ pattern }) => matches(pattern, spoken)).map(({ id }) => id);
  for (const phrase of rules.block_phrases ?? [])
    if (text.includes(plainText(phrase))) ruleIds.push(`phrase:${phrase}`);
  const findings = scanText(request);
  const isBlocked = ruleIds.length > 0 && rules.mode !== 'watch';
  return {
    allowed: !isBlocked,
    reasonCode: isBlocked ? 'input_blocked' : undefined,
    message: ruleIds.length === 0 ? '' : `The request matches the input rule ${ruleIds[0]}`,
    ruleIds,
    findings,
  };
}

const HARMLESS = new RegExp(`\\b${HARMLESS_BOMB}\\b`, 'g');

function matches(pattern: RegExp, text: string): boolean {
  const match = pattern.exec(text.replace(HARMLESS, 'toy'));
  return match !== null && !GUARDED.test(text.slice(Math.max(0, match.index - 160), match.index));
}
