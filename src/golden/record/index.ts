export { type CallRecording, CassetteRecorder } from './cassette-recorder.ts';
export { ModelRecorder, type OpenExchange, sentTwice, tapped } from './model-recorder.ts';
export { askStep, type PolicyStep, type RecordPolicyStepOptions, recordPolicyStep } from './policy-step.ts';
export { type RecordGoldenOptions, recordRun } from './record.ts';
