export { RequestAdmission } from './admission.ts';
export { BearerCheck } from './bearer.ts';
export type { Answered, Gateway } from './gateway.ts';
export { startGrpc } from './grpc.ts';
export type { Health } from './health.ts';
export { type RunningReceiver, startHealth, startHttp } from './http.ts';
export { Intake } from './intake.ts';
export { type Address, formatAddress, isLoopback } from './listen.ts';
export { readTls, type TlsOptions } from './tls.ts';
