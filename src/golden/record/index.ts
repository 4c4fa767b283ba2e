export { ModelRecorder } from './model-recorder.ts';
export { askStep, type PolicyStep, type RecordPolicyStepOptions, recordPolicyStep } from './policy-step.ts';
export { type RecordGoldenOptions, recordRun } from './record.ts';
