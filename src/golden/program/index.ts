export type { Departure, DepartureKind, ProgramReport } from './replay-report.ts';
export { recordThisProgram, replayThisProgram } from './this-program.ts';
