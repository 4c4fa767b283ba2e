/**
 * The inner loops of the signals as a WebAssembly module, in AssemblyScript: not TypeScript, though it looks like it.
 * `scripts/build-kernel.ts` compiles it; `tsc` does not read it. Texts are UTF-8 with 64 zero bytes behind them.
 */
export { allocate, free } from './memory';
export { normalize } from './normalize';
export { numbers } from './numbers';
export { add, addedTokens, reset, sharedTokens } from './token-sets';
