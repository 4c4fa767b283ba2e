export { isBun, patchInstalled } from './bun.ts';
export { diagnose } from './diagnosis.ts';
export { isDisabled } from './disabled.ts';
export { wantsOtlp } from './environment.ts';
export { installModuleHooks } from './module-hooks.ts';
export { addSpanProcessor, giveWay, onMeterProvider, redirectTracers } from './running-sdk.ts';
export { reportHooks, warnOfObstacles } from './self-check.ts';
