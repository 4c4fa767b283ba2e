export { type Golden, type ProviderExchange, readGolden } from './golden.ts';
export { type Playback, playGolden } from './playback.ts';
