/** Days and times that the calls and the user have otherwise. */
import { isPlan } from '../answer/index.ts';
import type { Rule } from './types.ts';
import { against, missing, perStatement } from './values.ts';

const FEW_DAYS = 3;
const RELATIVE =
  /(?<!\p{L})(?:today|tomorrow|yesterday|within|until|by|before|after|later|earlier|deadline|expected|estimated|due|heute|morgen|gestern|bis|hoy|mañana|ayer|hasta)(?!\p{L})|今日|明日|昨日|今天|明天|昨天|まで/u;
const DONE =
  /\b(?:(?:has|have) been|successfully|(?:is|are) now|(?:i|we)(?:['’]ve| have)|booked|scheduled|moved|confirmed|wurden?|fue(?:ron)?)\b/;
const otherDay: Rule = {
  name: 'another-day',
  says: 'a date is another one than the calls and the user gave',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: (reading) => {
    const facts = missing(reading).filter((fact) => fact.kind === 'day');
    if (facts.length === 0) return [];
    const { days, isCut } = reading.known;
    const some = [...days].filter((day) => day % 100 !== 0).length;
    if (some === 0 || isCut) return [];
    return perStatement(
      facts.flatMap((fact) => {
        if (fact.kind !== 'day' || fact.readings.every((day) => day % 100 === 0)) return [];
        const { statement } = fact;
        if (isPlan(statement) || RELATIVE.test(statement.lower)) return [];
        return some <= FEW_DAYS || DONE.test(statement.lower) ? [against(reading, fact)] : [];
      }),
    );
  },
};

/** Bounds, rules and rough times are no times of something. */
const BOUND =
  /(?:before|after|by|until|from|since|between|around|about|till|bis|ab|vor|nach|antes de|después de|desde|hasta|entre)\s(?:the\s|las?\s)?(?:\d{1,2}(?::\d\d)?\s?(?:[ap]\.?m\.?)?\s?(?:and|to|und|bis|y|a|-|–)\s)?$|[约約]$/;
const FREE_TIME =
  /(?<![a-z])(?:free|available|availability|open|opening|slot|gap|works?|fits?|conflicts?|libre|disponible|frei|verfügbar)(?![a-z])|可以|空/;
const SPAN =
  /(?<![\d.,:])(\d{1,3})(?:\.5)?[\s-]?(?:min(?:ute)?n?s?|hours?|hrs?|h|stunden?|minuten|horas?|minutos|heures?|分钟|小时|時間)(?![a-zß-ÿ])|(?:dur|min|hour|length|offset|buffer|delay)[a-z_]{0,12}"?\s?[:=]\s?"?(\d{1,3})(?!\d)|(?:an?|one|half an) hour/g;
const ZONED =
  /[+-]\d\d:\d\d|\dz\b|\b(?:utc|gmt|est|edt|cst|cet|cest|pst|pdt|jst|bst|timezone|tz|time zone)\b/;
const MAX_TIMES = 60;
const MAX_SPANS = 24;
const HALF_DAY = 720;
const otherTime: Rule = {
  name: 'another-time',
  says: 'a time is another one than the calls and the user gave',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: (reading) => {
    const { known } = reading;
    const facts = missing(reading).filter((fact) => fact.kind === 'time');
    if (
      facts.length === 0 ||
      known.times.length === 0 ||
      known.times.length > MAX_TIMES ||
      known.isCut ||
      !/\d:\d\d|\d ?[ap]m/.test(reading.steps.map(({ lower }) => lower).join(' '))
    )
      return [];
    if (ZONED.test(known.text)) return [];
    const said = reading.statements.map(({ lower }) => lower).join('\n');
    const spans = spansIn(`${known.text}\n${said}`);
    return perStatement(
      facts.flatMap((fact) => {
        if (fact.kind !== 'time') return [];
        const { statement, time } = fact;
        const { lower } = statement;
        if (
          isPlan(statement) ||
          FREE_TIME.test(lower) ||
          BOUND.test(lower.slice(Math.max(0, time.start - 40), time.start))
        )
          return [];
        const isReached = known.times.some(({ minutes }) =>
          [1, ...spans].some(
            (span) =>
              (minutes + span - time.minutes) % HALF_DAY === 0 ||
              (minutes - span - time.minutes) % HALF_DAY === 0,
          ),
        );
        return isReached ? [] : [against(reading, fact)];
      }),
    );
  },
};
/** Minutes that lie between two times: "15 minutes early", `"duration":30`, "an hour before". */
function spansIn(text: string): readonly number[] {
  const spans = new Set<number>();
  for (const match of text.matchAll(SPAN)) {
    if (spans.size >= MAX_SPANS) break;
    const [whole, number, keyed] = match;
    const isHours = /h|stund|小时|時間/.test(whole) && !/min/.test(whole);
    const count =
      number === undefined && keyed === undefined
        ? whole.startsWith('half')
          ? 0.5
          : 1
        : Number(number ?? keyed);
    spans.add(isHours ? (count + (whole.includes('.5') ? 0.5 : 0)) * 60 : count);
  }
  return [...spans].filter((span) => span > 0);
}

export const MOMENT_RULES: readonly Rule[] = [otherDay, otherTime];
