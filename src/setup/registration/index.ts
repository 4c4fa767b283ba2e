export { isBun, patchInstalled } from './bun.ts';
export { diagnose } from './diagnosis.ts';
export { isDisabled } from './disabled.ts';
export { wantsOtlp } from './environment.ts';
export { installModuleHooks } from './module-hooks.ts';
export { keepRequireHook } from './require-hook.ts';
export { findProcessors, giveWay, type OtherProcessors, onMeterProvider } from './running-sdk.ts';
export { hookedPackages, reportHooks, warnOfObstacles } from './self-check.ts';
export { StandbyProvider } from './standby.ts';
