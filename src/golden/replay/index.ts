export { type Loopback, openLoopback, type Playback, playGolden } from './playback.ts';
export { canonicalRequest, GoldenPlayer, type PlayerOptions } from './player.ts';
export {
  type ReplayGoldenOptions,
  type ReplayOptions,
  type ReplayReport,
  replayGolden,
  replayRun,
} from './replay.ts';
