export { ACTS, LOOKUPS, PLAIN_ACTS, READS, SAYING, TEXT_ACTS } from './acts.ts';
export {
  ABSENCES,
  ADVICE,
  ADVICE_HEADINGS,
  ALL,
  ALREADY,
  FREE,
  GENERAL,
  HEDGES,
  IMPERATIVES,
  TALK,
} from './moods.ts';
export {
  ADMISSIONS,
  BROKEN,
  DENIALS,
  EMPTY,
  FAILURES,
  NO_ADMISSION,
  SUCCESSES,
} from './outcomes.ts';
export {
  isUnspaced,
  type Passage,
  Phrases,
  type PhrasesByLanguage,
  readPassage,
  type Word,
  wordsOfName,
} from './phrases.ts';
