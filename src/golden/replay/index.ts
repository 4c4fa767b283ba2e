/** Answers from a golden: `player.ts` looks up those of the model, `cassette-player.ts` those of the tools. */

export { canonicalRequest } from './canonical-request.ts';
export type { CassettePlayer } from './cassette-player.ts';
export {
  answerFromGolden,
  type Loopback,
  openLoopback,
  type Playback,
  playGolden,
  toServer,
} from './playback.ts';
export { GoldenPlayer, type PlayerOptions } from './player.ts';
export {
  type ReplayGoldenOptions,
  type ReplayOptions,
  type ReplayReport,
  replayGolden,
  replayRun,
} from './replay.ts';
