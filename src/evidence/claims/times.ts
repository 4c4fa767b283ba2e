/** A time of day in a text. */
export interface TimeOfDay {
  readonly start: number;
  readonly end: number;
  /** Minutes since midnight; NaN for what looks like a time and is none: "9:70 AM". */
  readonly minutes: number;
  /** It is known which half of the day is meant: "3:30 PM", "15:30", "09:00". */
  readonly isExact: boolean;
}

const AFTER_TWELVE = /^(?:p|下|午後|晚|中)/;
const DIGITAL =
  /(?<![\d:.,+/-])(\d{1,2})(?:([:.])(\d\d)(?::[0-5]\d(?:\.\d{1,9})?)?)?(?!\d|[.,:]\d)\s?(?:([ap])\.?\s?m(?![a-z])|(uhr|o['’]clock)(?![a-zß])(?:\s([0-5]\d)(?!\d))?)?/g;
const SPANISH = /(?:a|de|desde|hasta) las? (\d{1,2})(?::([0-5]\d))?(?!\d)/g;
const CJK =
  /(上午|下午|晚上|早上|凌晨|中午|午前|午後)?\s?(\d{1,2})\s?(?:点|點|時(?!間)|时(?!间))(?:([0-5]?\d)分|(半))?/g;
const WORDED =
  /(?<![a-z])(?:(noon|midday)|(midnight)|(half|quarter) (past|to) (one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2}))(?![a-z\d])/g;
const HOURS = 'one two three four five six seven eight nine ten eleven twelve'.split(' ');
const MAX_TIMES = 600;

/** Times of day in a text in lower case: `15:30`, `3:30 pm`, `9 am`, `9.30 Uhr`, `下午3点`, `half past three`. */
export function timesIn(text: string): readonly TimeOfDay[] {
  const times: TimeOfDay[] = [];
  const add = (index: number, length: number, hour: number, minute: number, isExact: boolean) => {
    if (times.length >= MAX_TIMES || hour > 24) return;
    times.push({ start: index, end: index + length, minutes: (hour % 24) * 60 + minute, isExact });
  };
  for (const match of text.matchAll(DIGITAL)) {
    if (times.length >= MAX_TIMES) break;
    const [whole, hours = '', sign, minutes, half, word, wordMinutes] = match;
    if (half === undefined && word === undefined && sign !== ':') continue;
    const hour = Number(hours);
    const minute = Number(minutes ?? wordMinutes ?? 0);
    if (minute > 59 || (half === 'a' && hour > 12)) {
      if (half !== undefined && hour < 24) add(match.index, whole.length, hour, Number.NaN, true);
      continue;
    }
    const isHalf = half !== undefined && hour >= 1 && hour <= 12;
    if (isHalf) add(match.index, whole.length, (hour % 12) + (half === 'p' ? 12 : 0), minute, true);
    else add(match.index, whole.length, hour, minute, hour > 12 || hours.startsWith('0'));
  }
  if (text.includes(' las ') || text.includes(' la '))
    for (const match of text.matchAll(SPANISH))
      if (match[2] === undefined)
        add(match.index, match[0].length, Number(match[1]), 0, Number(match[1]) > 12);
  if (/[点點時时]/.test(text))
    for (const match of text.matchAll(CJK)) {
      const hour = Number(match[2]);
      const half = match[1];
      const isLate = half !== undefined && AFTER_TWELVE.test(half) && hour < 12;
      const minute = match[4] === undefined ? Number(match[3] ?? 0) : 30;
      add(match.index, match[0].length, isLate ? hour + 12 : hour, minute, half !== undefined || hour > 12);
    }
  for (const match of text.matchAll(WORDED)) {
    if (match[1] !== undefined || match[2] !== undefined)
      add(match.index, match[0].length, match[1] === undefined ? 0 : 12, 0, true);
    else {
      const named = HOURS.indexOf(match[5] as string) + 1;
      const hour = named === 0 ? Number(match[5]) : named;
      const off = match[3] === 'half' ? 30 : match[4] === 'to' ? 45 : 15;
      add(match.index, match[0].length, match[4] === 'to' ? (hour + 11) % 12 : hour, off, false);
    }
  }
  return times;
}
