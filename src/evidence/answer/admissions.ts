import { ADMISSIONS, NO_ADMISSION, type Passage } from '../phrases/index.ts';

/** Whether a statement says that something failed, was refused, was not found or was left out. */
export function admitsFailure(statement: Passage): boolean {
  for (let from = 0; ; ) {
    const hit = ADMISSIONS.find(statement, from);
    if (hit === undefined) return false;
    const excuse = NO_ADMISSION.find(statement, 0);
    // "without any errors" holds "errors".
    if (excuse === undefined || hit.end <= excuse.start || hit.start >= excuse.end) return true;
    from = excuse.end;
  }
}
