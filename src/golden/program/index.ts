export { recordThisProgram, replayThisProgram } from './this-program.ts';
