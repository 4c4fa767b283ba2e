export { ACTS, ASKS_TO_LOOK, LOOKUPS, PLAIN_ACTS, READS, SAYING, TEXT_ACTS } from './acts.ts';
export {
  ABSENCES,
  ADVICE,
  ALL,
  GENERAL,
  HEDGES,
  IMPERATIVES,
} from './moods.ts';
export {
  ADMISSIONS,
  DENIALS,
  EMPTY,
  FAILURES,
  NO_ADMISSION,
  SUCCESSES,
} from './outcomes.ts';
export {
  type Passage,
  Phrases,
  type PhrasesByLanguage,
  readPassage,
  type Word,
  wordsOfName,
} from './phrases.ts';
