export { checkProgram, type Program, type ProgramCheck, updateProgram } from './check-program.ts';
export type { Departure, DepartureKind, ProgramReport } from './replay-report.ts';
export { recordThisProgram, replayThisProgram } from './this-program.ts';
