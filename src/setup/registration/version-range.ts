/** Whether a version lies in a range of the form `>=1.2.0 <2`; the ranges are ours, so no more is understood. */
export function inRange(version: string, range: string): boolean {
  return range.split(' ').every((bound) => {
    const match = /^(>=|<)(.+)$/.exec(bound);
    if (match === null) throw new RangeError(`Expected a bound such as >=1.2.0 or <2, got '${bound}'`);
    const order = compare(version, match[2] ?? '');
    return match[1] === '<' ? order < 0 : order >= 0;
  });
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => (text.split('-')[0] ?? '').split('.').map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
