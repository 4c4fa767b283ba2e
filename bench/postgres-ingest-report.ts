/** One run of one method. */
export interface Measure {
  /** Rows per second. */
  readonly rate: number;
  /** CPU time per row, of this process and of the server, in microseconds. */
  readonly nodeMicros: number;
  readonly serverMicros: number;
}

/**
 * Prints one line per method. Ratios are medians of the ratios per round, not ratios of medians, since the machine may
 * be busier in one round than in another.
 * @param measures by round; a round in which a method took no part is a hole.
 */
export function reportIngest(
  methods: readonly { readonly name: string; readonly resendOf?: string }[],
  measures: ReadonlyMap<string, readonly Measure[]>,
  base: { readonly ceiling: string; readonly single: string },
): void {
  // Unlike `map`, `flatMap` and `flat` leave holes out.
  const of = (name: string) => (measures.get(name) ?? []).flat();
  const ratios = (name: string, other: string) =>
    (measures.get(name) ?? []).flatMap(({ rate }, round) => {
      const beside = measures.get(other)?.[round];
      return beside === undefined ? [] : [rate / beside.rate];
    });
  const ratio = (name: string, other: string) => median(ratios(name, other));
  const range = (values: readonly number[]) =>
    `${Math.min(...values).toFixed(2)}-${Math.max(...values).toFixed(2)}`;
  line(['', 'rows/s', 'of \\copy', '(range)', 'x one row', 'x first', 'Node us', 'server us']);
  for (const { name, resendOf } of methods) {
    line([
      name,
      Math.round(median(of(name).map(({ rate }) => rate))).toString(),
      ratio(name, base.ceiling).toFixed(2),
      range(ratios(name, base.ceiling)),
      ratio(name, base.single).toFixed(1),
      resendOf === undefined ? '' : ratio(name, resendOf).toFixed(2),
      median(of(name).map(({ nodeMicros }) => nodeMicros)).toFixed(1),
      median(of(name).map(({ serverMicros }) => serverMicros)).toFixed(1),
    ]);
  }
}

/** The measure with the median rate. */
export function medianOf(measures: readonly Measure[]): Measure {
  return [...measures].sort((a, b) => a.rate - b.rate)[measures.length >> 1] as Measure;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function line([name = '', ...cells]: readonly string[]): void {
  process.stdout.write(`${name.padEnd(36)}${cells.map((cell) => cell.padStart(11)).join('')}\n`);
}
