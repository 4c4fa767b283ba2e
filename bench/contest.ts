/**
 * Contenders that each make the same calls in a process of their own, and take turns of bursts of calls. Each exports to a
 * receiver in this process, which costs them nothing and counts what arrives. After each burst the event loop turns, as it
 * does in a program that waits for something.
 *
 * - *on the path*: CPU time of the main thread in the bursts alone, per call. This is what a caller waits for.
 * - *all CPU*: of the whole process, from the first call to the end of the flush after the last.
 *
 * Turns are many and short, so that a busy machine slows down all contenders of a round alike. A core that shares its
 * hardware with another program may be slower by half for some milliseconds, so a fixed piece of work is timed before and
 * after each burst: the time of a burst is divided by how much slower that work was than at its best in the same process.
 * Figures are means of the middle half of the differences to the contender `none` in the same round, with their quartiles;
 * ratios are of these means. After some rounds every contender begins anew in another process; contenders that have no
 * limit take part in every fourth of these generations, so that there are more rounds for the others.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { context, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider, type SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { Gauge, processCpu, threadCpu } from '../test/support/machine-speed.ts';
import { around, middleMean } from './spread.ts';

const TURNS = Number(process.env.BENCH_ROUNDS ?? 160);
const BURSTS = Number(process.env.BENCH_BURSTS ?? 8);
/** Few bursts are of calls with large texts, of which more than one burst at a time would fill every queue. */
const FLUSHES_EACH = BURSTS < 5;
const CALLS_PER_BURST = 50;
/** Calls get faster by a fifth during the first twenty turns, as more of the code is compiled for speed. */
const WARM_UP_TURNS = 24;
/** The same code is compiled and laid out differently in each process, by which it differs as much as by a tenth. */
const TURNS_OF_PROCESS = 10;
/** Generations from one in which contenders without a limit take part to the next. */
const SELDOM_EVERY = 4;

export interface Contest {
  readonly title: string;
  /** The file that runs a contender, given `--contend`, its name and `args`. */
  readonly program: string;
  readonly args?: readonly string[];
  /** The first is the one without spans, called `none`; the second the one to compare with. */
  readonly contenders: readonly string[];
  /** What to compare a contender with, where that is not the second. */
  readonly floors?: Readonly<Record<string, string>>;
  /** Contenders without a limit, of which fewer readings are enough. @defaultValue none */
  readonly seldom?: readonly string[];
  /** Bursts of 50 calls in a turn, for calls that take long. @defaultValue 8 */
  readonly bursts?: number;
  /** Spans each call must give at the receiver; a contender that traces less does less work. */
  readonly spansPerCall: Readonly<Record<string, number>>;
}

/** CPU microseconds per call. */
interface Reading {
  readonly path: number;
  readonly all: number;
}

/** Those of each contender, by round; a round in which it took no part is a hole. */
type Readings = ReadonlyMap<string, Reading[]>;

/** Runs all contenders and prints their table. */
export async function compare(contest: Contest): Promise<void> {
  const readings: Readings = new Map(contest.contenders.map((name) => [name, []]));
  const generations = Math.ceil(TURNS / TURNS_OF_PROCESS);
  const turns = Math.ceil(TURNS / generations);
  for (let at = 0; at < generations; at++) await takeTurns(contest, readings, at, turns);
  tell(contest, readings);
}

/** Turns of a process for each contender. */
async function takeTurns(
  contest: Contest,
  readings: Readings,
  generation: number,
  turns: number,
): Promise<void> {
  const { contenders, seldom = [] } = contest;
  const all = generation % SELDOM_EVERY === 0;
  const names = contenders.filter((name) => all || !seldom.includes(name));
  const children = names.map((name) => new Contender(contest, name));
  for (const child of children) await child.ready;
  for (let at = -WARM_UP_TURNS; at < turns; at++) {
    for (const child of children) {
      const reading = await child.turn();
      if (at >= 0) (readings.get(child.name) as Reading[])[generation * turns + at] = reading;
    }
  }
  for (const child of children) child.end();
}

function tell({ title, contenders, floors = {}, bursts = BURSTS }: Contest, readings: Readings): void {
  const base = readings.get('none') ?? [];
  // Unlike `map`, `flatMap` leaves holes out.
  const added = (list: readonly Reading[], part: keyof Reading) =>
    list.flatMap((reading, round) => reading[part] - (base[round]?.[part] ?? Number.NaN));
  const floorOf = (name: string) => floors[name] ?? contenders[1] ?? '';
  const ratio = (name: string, part: keyof Reading) => {
    const [own, floor] = [readings.get(name) ?? [], readings.get(floorOf(name)) ?? []];
    return (middleMean(added(own, part)) / middleMean(added(floor, part))).toFixed(2);
  };
  const none = around(base.map(({ path }) => path));
  console.log(
    `\n${title}: CPU us per call, ${TURNS} turns of ${bursts * CALLS_PER_BURST} calls; none ${none}`,
  );
  console.table(
    [...readings]
      .filter(([name]) => name !== 'none')
      .map(([contender, list]) => {
        const [path, all] = [added(list, 'path'), added(list, 'all')];
        return {
          contender,
          'added on the path (quartiles)': around(path),
          ratio: ratio(contender, 'path'),
          'all CPU added (quartiles)': around(all),
          'ratio of all': ratio(contender, 'all'),
          'compared with': floorOf(contender),
        };
      }),
  );
}

/** A contender in its process, and the receiver of its spans. */
class Contender {
  readonly name: string;
  readonly ready: Promise<unknown>;
  readonly #contest: Contest;
  #received = 0;
  #child: ChildProcess | undefined;
  readonly #sink: HttpServer;
  readonly #bursts: number;

  constructor(contest: Contest, name: string) {
    this.#contest = contest;
    this.name = name;
    this.#bursts = contest.bursts ?? BURSTS;
    this.#sink = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        if (request.url?.endsWith('/traces')) this.#received += countSpans(Buffer.concat(parts));
        response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
      });
    });
    this.ready = this.#start();
  }

  async #start(): Promise<void> {
    await new Promise<void>((resolve) => this.#sink.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(this.#sink.address() as AddressInfo).port}`;
    this.#child = fork(this.#contest.program, ['--contend', this.name, ...(this.#contest.args ?? [])], {
      env: {
        ...process.env,
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_METRICS_EXPORTER: 'none',
        BENCH_BURSTS: String(this.#bursts),
      },
    });
    await this.#answer();
  }

  async turn(): Promise<Reading> {
    this.#received = 0;
    this.#child?.send('turn');
    const reading = (await this.#answer()) as Reading;
    const expected = this.#contest.spansPerCall[this.name];
    const perCall = this.#received / (this.#bursts * CALLS_PER_BURST);
    if (expected !== undefined && perCall !== expected)
      throw new Error(`${this.name}: ${perCall} spans of each call arrived`);
    return reading;
  }

  #answer(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#child?.removeAllListeners();
      this.#child?.once('message', resolve);
      this.#child?.once('exit', (code) => reject(new Error(`${this.name} ended with exit code ${code}`)));
    });
  }

  end(): void {
    this.#child?.removeAllListeners('exit');
    this.#child?.kill();
    this.#sink.close();
    this.#sink.closeAllConnections();
  }
}

/** Spans of an OTLP request: fields 1, 2 and 2 of the three levels of messages. */
function countSpans(body: Buffer, path: readonly number[] = [1, 2, 2]): number {
  let count = 0;
  for (let at = 0; at < body.length; ) {
    let [tag, length] = [0, 0];
    [tag, at] = varint(body, at);
    if ((tag & 7) !== 2) throw new Error(`unexpected wire type in tag ${tag}`);
    [length, at] = varint(body, at);
    if (tag >>> 3 === path[0])
      count += path.length === 1 ? 1 : countSpans(body.subarray(at, at + length), path.slice(1));
    at += length;
  }
  return count;
}

function varint(body: Buffer, start: number): [value: number, end: number] {
  let value = 0;
  for (let at = start, shift = 0; ; at++, shift += 7) {
    const byte = body[at] as number;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return [value, at + 1];
  }
}

/** What a contender's process does: `call` is made in bursts, inside an active span, whenever the contest asks. */
export function contend(call: () => PromiseLike<unknown>, flush: () => Promise<void>): void {
  const outer = trace.getTracer('bench').startSpan('outer');
  const active = trace.setSpan(context.active(), outer);
  const gauge = new Gauge();
  process.on('message', async () => {
    let [path, all] = [0, 0];
    gauge.begin();
    for (let burst = 0; burst < BURSTS; burst++) {
      const ofProcess = processCpu();
      const started = threadCpu();
      await context.with(active, async () => {
        for (let i = 0; i < CALLS_PER_BURST; i++) await call();
      });
      const ofThread = threadCpu() - started;
      if (FLUSHES_EACH) await flush();
      else await turn();
      const spent = processCpu() - ofProcess;
      const slowness = gauge.slowness();
      path += ofThread / slowness;
      all += spent / slowness;
    }
    const ofProcess = processCpu();
    await flush();
    const spent = processCpu() - ofProcess;
    all += spent / gauge.slowness();
    const calls = BURSTS * CALLS_PER_BURST;
    process.send?.({ path: path / calls, all: all / calls } satisfies Reading);
  });
  process.send?.('ready');
}

/** Somebody else's SDK, that exports: with these processors before its own. */
export function startSomeSdk(processors: readonly SpanProcessor[] = []): NodeTracerProvider {
  // As many as ours holds, and none sent before the flush: a full batch would be encoded inside of a call, for which the
  // figure would depend on the number of attributes more than on what is measured.
  const limits = { maxQueueSize: 16_384, maxExportBatchSize: 16_384 };
  const batches = new BatchSpanProcessor(new OTLPTraceExporter(), limits);
  const provider = new NodeTracerProvider({ spanProcessors: [...processors, batches] });
  provider.register();
  return provider;
}
