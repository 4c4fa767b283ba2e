import { ObservatoryError } from '../../base/index.ts';

const MS_OF_UNIT = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const DURATION = /^(\d{1,6})([mhdw])$/;

/**
 * Parses a duration into milliseconds: `90m`, `12h`, `30d`, `8w`.
 * @throws ObservatoryError `INVALID_OPTION` for anything else, zero included.
 */
export function parseDuration(option: string, text: string): number {
  const [, count, unit] = DURATION.exec(text) ?? [];
  const ms = Number(count) * MS_OF_UNIT[unit as keyof typeof MS_OF_UNIT];
  if (ms > 0) return ms;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected ${option} to be a number of minutes, hours, days or weeks such as 90m, 12h, 30d or 8w, got '${text}'`,
  );
}
