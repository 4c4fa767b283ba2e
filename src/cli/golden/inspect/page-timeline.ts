import { type Html, html } from './html.ts';
import type { ModelStep, Step, ToolStep } from './story.ts';
import { countWords, durationWords } from './words.ts';

type TimedStep = ModelStep | ToolStep;

/** Rows beyond these would be no picture any more. */
const MAX_ROWS = 200;
/** Width of a bar's drawing; it is stretched to the column. */
const SPAN = 1000;
/** A bar shorter than this could not be seen. */
const MIN_BAR = 4;

/** Where the time and the tokens went: a row for each model and tool step, one after the other. */
export function timeline(steps: readonly Step[]): Html {
  const rows = steps.flatMap((step, index) =>
    step.kind === 'model' || step.kind === 'tool' ? [{ step, number: index + 1 }] : [],
  );
  const total = rows.reduce((sum, { step }) => sum + (step.ms ?? 0), 0);
  const most = Math.max(1, ...rows.map(({ step }) => tokensOf(step)));
  if (rows.length < 2) return html``;
  let begun = 0;
  const lines = rows.slice(0, MAX_ROWS).map(({ step, number }) => {
    const line = row(step, number, begun, total, most);
    begun += step.ms ?? 0;
    return line;
  });
  const left = rows.length - lines.length;
  return html`<section aria-labelledby="timeline-title"><h2 id="timeline-title">Time and tokens</h2>
<table class="timeline"><thead><tr><th scope="col">Step</th><th scope="col">Time</th><th scope="col" class="num">Duration</th><th scope="col"><span class="key in"></span> in<span class="key out"></span> out</th><th scope="col" class="num">Tokens</th></tr></thead>
<tbody>${lines}</tbody></table>${left === 0 ? '' : html`<p class="more">and ${left} more steps</p>`}</section>`;
}

function row(step: TimedStep, number: number, begun: number, total: number, most: number): Html {
  const name = step.kind === 'tool' ? step.name : `turn ${step.turn}`;
  const className = step.failure === undefined ? step.kind : `${step.kind} failed`;
  const tokens = tokensOf(step);
  return html`<tr class="${className}"><th scope="row"><a href="#step-${number}"><span class="no">${number}</span> ${name}</a></th><td>${timeBar(step, begun, total)}</td><td class="num">${step.ms === undefined ? '' : durationWords(step.ms)}</td><td>${tokens === 0 ? '' : tokenBar(step, most)}</td><td class="num">${tokens === 0 ? '' : countWords(tokens)}</td></tr>\n`;
}

function timeBar({ ms = 0 }: TimedStep, begun: number, total: number): Html {
  const scale = SPAN / Math.max(total, 1);
  const width = Math.max(MIN_BAR, ms * scale);
  const x = Math.min(SPAN - width, begun * scale);
  return html`<svg viewBox="0 0 ${SPAN} 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="${SPAN}" height="10"/><rect class="bar" x="${x.toFixed(1)}" width="${width.toFixed(1)}" height="10"/></svg>`;
}

function tokenBar(step: TimedStep, most: number): Html {
  const usage = step.kind === 'model' ? step.usage : undefined;
  const scale = SPAN / most;
  const input = (usage?.inputTokens ?? 0) * scale;
  const output = (usage?.outputTokens ?? 0) * scale;
  return html`<svg viewBox="0 0 ${SPAN} 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="${SPAN}" height="10"/><rect class="in" width="${input.toFixed(1)}" height="10"/><rect class="out" x="${input.toFixed(1)}" width="${output.toFixed(1)}" height="10"/></svg>`;
}

function tokensOf(step: TimedStep): number {
  if (step.kind === 'tool') return 0;
  return (step.usage?.inputTokens ?? 0) + (step.usage?.outputTokens ?? 0);
}
