export type { CassettePlayer } from './cassette-player.ts';
export {
  answerFromGolden,
  type Loopback,
  openLoopback,
  type Playback,
  playGolden,
  toServer,
} from './playback.ts';
export { canonicalRequest, GoldenPlayer, type PlayerOptions } from './player.ts';
export {
  type ReplayGoldenOptions,
  type ReplayOptions,
  type ReplayReport,
  replayGolden,
  replayRun,
} from './replay.ts';
