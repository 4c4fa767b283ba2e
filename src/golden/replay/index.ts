export { CassettePlayer } from './cassette-player.ts';
export { type Loopback, openLoopback } from './loopback.ts';
export { type Playback, playGolden } from './playback.ts';
export { GoldenPlayer, type PlayerOptions } from './player.ts';
export { type ReplayOptions, type ReplayReport, replayGolden } from './replay-golden.ts';
export { type ReplayGoldenOptions, replayRun } from './replay-run.ts';
export { canonicalRequest } from './request-key.ts';
