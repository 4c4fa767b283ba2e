import { checkValue, ObservatoryError } from '../../base/index.ts';
import { canonicalHash } from '../../json/index.ts';
import type { Golden, WireResponse } from '../file/index.ts';
import { A_GOLDEN } from '../file/index.ts';
import { behaviorDrift } from './behavior.ts';
import { type DriftFinding, type DriftLevel, findingAt, gatherFindings } from './finding.ts';
import { inferShape, type ShapeDifference, shapeDrift } from './shape.ts';

export interface Drift {
  /** The highest level found; `none` without findings. */
  readonly verdict: DriftLevel | 'none';
  readonly findings: readonly DriftFinding[];
}

/**
 * Compares two recordings of a run: did the shape of the provider's responses change, or the model's behavior? Wording
 * is ignored; see `toMatchGolden` for that.
 *
 * A new field is `info`, a removed one a `warning`; a changed type, status, finish reason, call or argument a `failure`.
 * If the requests already differ, which may cause the rest, that is a `warning`.
 *
 * @throws ObservatoryError `INVALID_OPTION` for goldens of different providers; `golden compare` is for those.
 */
export function detectDrift(before: Golden, after: Golden): Drift {
  checkValue('the first golden of detectDrift()', before, A_GOLDEN);
  checkValue('the second golden of detectDrift()', after, A_GOLDEN);
  if (before.input.provider !== after.input.provider) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Drift is between recordings of one provider, got '${before.input.provider}' and '${after.input.provider}'; use 'golden compare' for two providers`,
    );
  }
  const findings = gatherFindings([
    ...inputDrift(before, after),
    ...versionDrift(before, after),
    ...behaviorDrift(before, after),
    ...formDrift(before, after),
  ]);
  return { verdict: findings[0]?.level ?? 'none', findings };
}

/** Differences caused by the request; not reported as provider drift. */
function inputDrift(before: Golden, after: Golden): DriftFinding[] {
  const found: DriftFinding[] = [];
  for (const field of ['model', 'system_prompt', 'user_prompt', 'options'] as const) {
    const [was, is] = [before.input[field], after.input[field]];
    if (canonicalHash(was ?? null) === canonicalHash(is ?? null)) continue;
    const message = 'is not the same; what differs below may be due to it';
    found.push(findingAt('warning', `input.${field}`, message));
  }
  if (found.length > 0) return found;
  // The first request does not depend on the model.
  const [was, is] = [before, after].map(({ provider_responses: [first] }) =>
    canonicalHash(first?.request.body ?? null),
  );
  if (was === is) return [];
  const message =
    'is not the same (other tools, or another version of the orchestrator); what differs below may be due to it';
  return [findingAt('warning', 'the first request', message)];
}

function versionDrift(before: Golden, after: Golden): DriftFinding[] {
  const found: DriftFinding[] = [];
  const add = (level: DriftLevel, place: string, was: string, is: string): void => {
    if (was !== is) found.push(findingAt(level, place, `was ${was}, is ${is}`));
  };
  const sdk = ({ versions }: Golden): string =>
    versions.sdk === null ? 'not told' : `${versions.sdk.name} ${versions.sdk.version}`;
  add('info', 'versions.observatory', before.versions.observatory, after.versions.observatory);
  add('info', 'versions.sdk', sdk(before), sdk(after));
  const servers = new Set([...Object.keys(before.versions.tools), ...Object.keys(after.versions.tools)]);
  for (const server of servers) {
    const [was, is] = [before.versions.tools[server], after.versions.tools[server]];
    if (was === is) continue;
    const message =
      was === undefined
        ? 'a new server'
        : is === undefined
          ? 'the server is gone'
          : 'the server lists other tools';
    found.push(findingAt('warning', `versions.tools.${server}`, message));
  }
  return found;
}

/** Changes in the shape of responses; per exchange if their numbers are equal, so that no change is hidden by the rest. */
function formDrift(before: Golden, after: Golden): DriftFinding[] {
  const [old, now] = [before.provider_responses, after.provider_responses];
  if (old.length !== now.length) {
    const [was, is] = [old, now].map((list) => list.map(({ response }) => response));
    return responseDrift(was ?? [], is ?? []);
  }
  return old.flatMap(({ response }, index) => {
    const counterpart = now[index]?.response;
    // A changed status was reported above; error bodies have a different shape, so skip the comparison.
    if (counterpart === undefined || counterpart.status !== response.status) return [];
    return responseDrift([response], [counterpart], index + 1);
  });
}

function responseDrift(
  was: readonly WireResponse[],
  is: readonly WireResponse[],
  ...exchanges: readonly number[]
): DriftFinding[] {
  const found: ShapeDifference[] = [];
  const bodies = (list: readonly WireResponse[]): unknown[] =>
    list.flatMap(({ body }) => (body === undefined ? [] : [body]));
  const events = (list: readonly WireResponse[]): unknown[] =>
    list.flatMap(({ events: lines = [] }) => lines.map((line) => ('data' in line ? line.data : line.raw)));
  const [oldBodies, newBodies, oldEvents, newEvents] = [bodies(was), bodies(is), events(was), events(is)];
  if (oldBodies.length > 0 && newBodies.length > 0) {
    found.push(...shapeDrift(inferShape(...oldBodies), inferShape(...newBodies), 'response'));
  }
  if (oldEvents.length > 0 && newEvents.length > 0) {
    found.push(...shapeDrift(inferShape(oldEvents), inferShape(newEvents), 'events'));
  }
  if (oldEvents.length > 0 !== newEvents.length > 0 && oldBodies.length > 0 !== newBodies.length > 0) {
    const [from, to] = oldEvents.length > 0 ? ['a stream', 'a whole answer'] : ['a whole answer', 'a stream'];
    found.push({ level: 'failure', place: 'response', message: `was ${from}, is ${to}` });
  }
  const [oldTypes, newTypes] = [contentTypes(was), contentTypes(is)];
  if (oldTypes !== newTypes) {
    const place = 'response.headers.content-type';
    found.push({ level: 'failure', place, message: `was ${oldTypes}, is ${newTypes}` });
  }
  return found.map((difference) => ({ ...difference, exchanges }));
}

function contentTypes(list: readonly WireResponse[]): string {
  const types = list.map(({ headers }) => headers['content-type']?.split(';')[0]?.trim() ?? 'absent');
  return [...new Set(types)].sort().join(', ');
}
