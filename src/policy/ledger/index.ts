/** The ledger of calls: budgets over runs, days and callers, and effects that are done at most once. */
export type { OnceDocument, SequenceDocument, TotalDocument } from './documents.ts';
export { LASTING, MemoryLedger } from './memory.ts';
export type {
  CallLedger,
  EarlierEffect,
  LedgerAnswer,
  LedgerOutcome,
  LedgerRequest,
  LedgerTake,
  LedgerWitness,
} from './types.ts';
export { listArguments, nameAt, pathsIn, toUnits, valuesAt } from './values.ts';
