/** Kinds of options that are objects of this room. By their methods, so that another copy of the package counts too. */
import { either, exactly, having, kinds, type OptionKind } from '../base/index.ts';

export const A_GATE: OptionKind = having(
  "a PolicyGate, as 'new PolicyGate()' makes it",
  'evaluate',
  'authorize',
);
export const A_PIN_STORE: OptionKind = having(
  "a PinStore, as 'PinStore.fromFile(path)' returns it",
  'has',
  'approve',
);
export const AN_AUDIT_RUN: OptionKind = having(
  "an AuditRun, as 'startRun()' of an AuditLog returns it",
  'record',
  'settle',
);
const AN_AUDIT_LOG = having('an AuditLog', 'startRun');

/** Where runs are recorded. */
export const AN_AUDIT: OptionKind = either(
  AN_AUDIT_LOG,
  { ...kinds.string, expected: 'the path of a folder' },
  exactly(false),
);
export const A_LOG_OR_RUN: OptionKind = either(AN_AUDIT_LOG, AN_AUDIT_RUN);
