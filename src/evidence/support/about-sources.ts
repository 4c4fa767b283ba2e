/** What an answer says of its sources, and not with them: nothing in them can support it, or needs to. */

const SOURCE =
  '(?:passages?|contexts?|documents?|information|texts?|data|sources?|excerpts?|articles?|search results|snippets?|materials?|content|reviews?)';
const GIVEN = '(?:provided|given|above|available|retrieved|supplied)';
const WHICH = `(?:(?:${GIVEN}|these|this|following) )?`;

const PHRASES = new RegExp(
  [
    // "Sure!", "Certainly,"
    '(?:^|(?<=[\\n.!] ?))(?:sure|certainly|of course|absolutely|ok(?:ay)?)\\b[!,.]?',
    // "Based on the information in the provided passages"
    `\\bbased (?:solely |only |purely )?(?:up)?on (?:the )?(?:(?:information|details|facts|data|content) )?(?:(?:in|from|of) (?:the )?)?${WHICH}${SOURCE}(?: ${GIVEN})?`,
    `\\baccording to (?:the )?${WHICH}${SOURCE}(?: ${GIVEN})?(?: \\d{1,2})?`,
    // "(Passage 2)", "passages 1 and 3", "[4]"
    '\\(?\\b(?:passages?|documents?|sources?|excerpts?|snippets?|references?) ?\\d{1,2}(?:(?:,| and|,? ?&|,? or) ?\\d{1,2}){0,8}\\)?',
    '\\[\\d{1,2}(?:, ?\\d{1,2}){0,8}\\]',
    `\\bhere(?:['’]s| is| are) (?:an? |the |some )?(?:brief |short |concise |quick )?(?:answers?|summary|overview|list|response|explanation)(?: (?:to|of|for) (?:the|your) (?:question|query|passages?))?`,
    '\\bthe answer to (?:the|your) question(?: ["“][^"”\\n]{1,200}["”])? is',
    // "Answer:", "2. "
    '(?:^|\\n)(?:answer|question|response)(?: \\d{1,2})?:',
    '(?:^|\\n) {0,3}(?:\\d{1,2}[.)]|[-*•]) ',
  ].join('|'),
  'gi',
);

const NOT_A_BREAK = /[^\n]/g;

/** The answer with spaces in the place of such phrases, so that all else stays where it was. */
export const withoutTalkOfSources = (answer: string): string =>
  answer.replace(PHRASES, (phrase) => phrase.replace(NOT_A_BREAK, ' '));
