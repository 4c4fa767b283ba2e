export { diagnose } from './diagnosis.ts';
export { isDisabled, wantsOtlp } from './environment.ts';
export { installModuleHooks } from './module-hooks.ts';
export { addSpanProcessor, giveWay, onMeterProvider, runningProvider } from './running-sdk.ts';
export { reportHooks, warnOfObstacles } from './self-check.ts';
