/** What an answer says it rests on, and what it counts itself. */
import { admitsFailure, isConditional, isPlan, type Sentence } from '../answer/index.ts';
import { Phrases } from '../phrases/index.ts';
import { daysIn, numberOfWord } from '../values/index.ts';
import { onStatement } from './finding.ts';
import type { AnswerReading, Rule } from './types.ts';

const SOURCED = new Phrases({
  en: 'based on current, based on recent, based on the latest, based on my search, based on my research, based on real time, based on the search, based on market, based on live, according to the search, according to recent, from multiple sources, from various sources, search results show, i found, i researched, current market, latest data, real time data, up to date data',
  de: 'laut der suche, aktuelle daten, ich habe gefunden',
  es: 'según la búsqueda, datos actuales, encontré',
  fr: "d'après la recherche, données actuelles, j'ai trouvé",
  pt: 'segundo a busca, dados atuais, encontrei',
  ja: '検索結果, 最新の, 見つけました',
  zh: '根据搜索, 搜索结果, 最新数据, 我找到',
});

const failedSource: Rule = {
  name: 'source-that-failed',
  says: 'says that it rests on a search or on current data, but every look-up failed or found nothing',
  kind: 'empty_result_confident_answer',
  needsAllSteps: true,
  apply: (reading) => {
    const looks = reading.steps.filter((step) => step.isRead && !step.isListing);
    if (looks.length === 0 || looks.some(({ outcome }) => outcome !== 'failed' && outcome !== 'empty'))
      return [];
    if (reading.statements.some((one) => one.kind !== 'code' && admitsFailure(one))) return [];
    const statement = reading.statements.find(
      (one) => one.kind === 'claim' && SOURCED.has(one) && !isPlan(one) && !isConditional(one),
    );
    return statement === undefined ? [] : [onStatement(statement, looks.at(-1)?.index)];
  },
};

const IN_FUTURE =
  /\b(?:near future|upcoming|coming (?:days|weeks|months)|(?:in )?the next (?:few )?(?:days|weeks|months)|(?<!too )soon)\b/;
const OF_TODAY = /^(?:current|now|today|date|time|clock)$/;
const YEAR = /\b(?:19|20)\d\d\b/;
/** The days of a text that have a year: `20250722`. */
function datesIn(text: string): readonly number[] {
  return daysIn(text).flatMap(({ start, end, readings: [day = 0] }) => {
    const year = YEAR.exec(text.slice(start, end + 6))?.[0];
    return year === undefined || day % 100 === 0 ? [] : [Number(year) * 10_000 + day];
  });
}

const MAX_TODAY_CHARS = 600;
/** The day on which the run was made, by a call that was asked for it, or for nothing. */
function findToday({ steps }: AnswerReading): { readonly today: number; readonly index: number } | undefined {
  for (const { argumentsText, toolWords, text, index, isRead, isListing } of steps) {
    const isAsked = toolWords.some((word) => OF_TODAY.test(word)) || argumentsText === '';
    if (!isAsked || !isRead || isListing || text.length > MAX_TODAY_CHARS) continue;
    const [today, other] = new Set(datesIn(text));
    if (today !== undefined && other === undefined) return { today, index };
  }
  return undefined;
}

const pastAsFuture: Rule = {
  name: 'past-days-as-future',
  says: 'says of days that they are to come, but a call says that today is later',
  kind: 'wrong_value',
  needsAllSteps: false,
  apply: (reading) => {
    const said = reading.statements.filter((one) => one.kind === 'claim' && IN_FUTURE.test(one.lower));
    const now = said.length === 0 ? undefined : findToday(reading);
    if (now === undefined) return [];
    const dates = reading.statements.flatMap(({ text }) => datesIn(text));
    return dates.some((date) => date >= now.today) || dates.length === 0
      ? []
      : said.slice(0, 1).map((one) => onStatement(one, now.index));
  },
};

const SPAN = /\b(\d{1,2}|[a-z]{3,5})[- ]days?\b(?! (?:ago|later|before|after|of))/;
const WEEKDAY = /^\W{0,8}(mon|tues|wednes|thurs|fri|satur|sun)day\b(?!\s?(?:-|–|to|and|\/|&))/;
const OF_WEEK = /\b(?:for (?:the|next|this|a) (?:whole |full )?week|weekly (?:meal )?plan|week['’]s)\b/;
const otherSpan: Rule = {
  name: 'plan-of-other-days',
  says: 'says how many days a plan has, and gives another number of days',
  kind: 'wrong_value',
  needsAllSteps: false,
  apply: ({ statements }) => {
    const labels = statements.filter(({ kind, isItem }) => kind === 'label' || !isItem);
    const days = labels.flatMap(({ lower }) => /^\W{0,8}day (\d{1,2})\b/.exec(lower)?.[1] ?? []).map(Number);
    const weekdays = new Set(labels.flatMap(({ lower }) => WEEKDAY.exec(lower)?.[1] ?? []));
    const said = statements.find(({ kind, lower }) => {
      if (kind !== 'claim') return false;
      const span = SPAN.exec(lower)?.[1] ?? '';
      const count = numberOfWord(span) ?? Number(span || Number.NaN);
      if (days.length > 1 && count > 1) return Math.max(...days) > count;
      return days.length === 0 && weekdays.size > 0 && weekdays.size < 3 && OF_WEEK.test(lower);
    });
    return said === undefined ? [] : [onStatement(said)];
  },
};

const BEHIND =
  /\b(\d{1,3}|[a-z]{3,5}) (major|minor) (?:versions?|releases?) (?:behind|ahead|older|newer|back)\b/;
const VERSION = /(?<![\w.])v?(\d{1,5})\.(\d{1,5})(?:\.\d{1,8})?/g;
const otherDistance: Rule = {
  name: 'other-distance-of-versions',
  says: 'says how many versions lie between two, and the two say otherwise',
  kind: 'wrong_value',
  needsAllSteps: false,
  apply: ({ statements, steps }) => {
    const isOther = ({ kind, lower }: Sentence) => {
      const [, count = '', part] = BEHIND.exec(lower) ?? [];
      const [from, to, third] = [...lower.matchAll(VERSION)];
      if (kind !== 'claim' || part === undefined || from === undefined || to === undefined || third)
        return false;
      const at = part === 'major' ? 1 : 2;
      const said = numberOfWord(count) ?? Number(count);
      return (at === 1 || from[1] === to[1]) && Math.abs(Number(from[at]) - Number(to[at])) !== said;
    };
    return statements.filter(isOther).map((one) => onStatement(one, steps.at(-1)?.index));
  },
};

export const SOURCE_RULES: readonly Rule[] = [failedSource, pastAsFuture, otherSpan, otherDistance];
