import { createHash } from 'node:crypto';
import { VERSION } from '../../../base/index.ts';
import { type Html, html, textBlock, valueBlock } from './html.ts';
import { PAGE_STYLE } from './page-style.ts';
import type { ModelStep, Step, Story, ToolStep } from './story.ts';
import {
  costWords,
  countWords,
  durationWords,
  outcomeWords,
  spaced,
  stepFigures,
  tokenWords,
  totalTokens,
  turnWords,
} from './words.ts';

/**
 * A story as one self-contained HTML page: no script, no font, no image, no request. Content of models and tools is
 * escaped; if that failed, the page's policy still lets nothing run or load.
 */
export function storyPage(story: Story): string {
  const styleHash = createHash('sha256').update(PAGE_STYLE).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
${html`<title>${story.title} · golden</title>`.toString()}
<link rel="icon" href="data:,">
<style>${PAGE_STYLE}</style>
</head>
<body>
${body(story).toString()}
</body>
</html>
`;
}

function body(story: Story): Html {
  return html`<a class="skip" href="#steps">Skip to the steps</a>
${header(story)}
<main>
${failures(story)}
${timeline(story.steps)}
<section aria-labelledby="steps-title"><h2 id="steps-title">Step by step</h2>
<ol id="steps" class="steps">
${story.steps.map(stepItem)}</ol></section>
</main>
<footer>mcp-observatory ${VERSION}. Costs are those of the tokens the provider reported, at list price.</footer>`;
}

function header(story: Story): Html {
  const dates = [
    story.recordedAt === null ? '' : `recorded ${day(story.recordedAt)}`,
    story.expiresAt === null ? '' : `expires ${day(story.expiresAt)}`,
  ].filter(Boolean);
  return html`<header class="top"><div class="titles"><p class="kicker"><span class="tag">${spaced(story.category)}</span> <span class="tag ${story.source}">${story.source}</span> <span>${[story.provider, story.model, ...dates].filter(Boolean).join(' · ')}</span></p>
<h1>${story.title}</h1>
${story.description === '' ? '' : html`<p class="lead">${story.description}</p>`}
${story.problems.map(({ message }) => html`<p class="problem">${message}</p>`)}</div>
<fieldset class="theme"><legend>Colors</legend><label><input type="radio" name="theme" id="auto" checked><span>Auto</span></label><label><input type="radio" name="theme" id="light"><span>Light</span></label><label><input type="radio" name="theme" id="dark"><span>Dark</span></label></fieldset>
<dl class="figures">${figures(story)}</dl></header>`;
}

function figures({ outcome, totals }: Story): readonly Html[] {
  const state = outcome.success === undefined ? '' : outcome.success ? 'good' : 'bad';
  const { promptTokens, completionTokens, failedToolCalls } = totals;
  const total = totalTokens(totals);
  const tokens = total === undefined ? 'unknown' : countWords(total);
  return [
    figure('Outcome', outcomeWords(outcome), '', state),
    figure('Turns', countWords(totals.turns), ''),
    figure(
      'Tool calls',
      countWords(totals.toolCalls),
      failedToolCalls === 0 ? '' : `${failedToolCalls} failed`,
    ),
    figure('Tokens', tokens, tokenWords(promptTokens, completionTokens)),
    figure('Cost', totals.costUsd === undefined ? 'unknown' : costWords(totals.costUsd), 'at list price'),
    figure(
      'Time',
      durationWords(totals.modelMs === undefined ? undefined : totals.modelMs + totals.toolMs),
      `model ${durationWords(totals.modelMs)}, tools ${durationWords(totals.toolMs)}`,
    ),
  ];
}

function figure(name: string, value: string, note: string, state = ''): Html {
  return html`<div class="${state}"><dt>${name}</dt><dd>${value}${note === '' ? '' : html`<small>${note}</small>`}</dd></div>`;
}

function failures({ failures: points }: Story): Html {
  if (points.length === 0) return html``;
  const items = points.map(({ step, what, message, recovery }) => {
    const name = step === undefined ? html`${what}` : html`<a href="#step-${step}">Step ${step}: ${what}</a>`;
    return html`<li><p class="what">${name}</p>${textBlock(message, 'bad')}${recovery === undefined ? '' : html`<p class="recovery">Then: ${recovery}</p>`}</li>\n`;
  });
  return html`<section aria-labelledby="failures-title" class="failures"><h2 id="failures-title">Where it went wrong</h2><ul>${items}</ul></section>`;
}

function stepItem(step: Step, index: number): Html {
  const number = index + 1;
  const failed = (step.kind === 'model' || step.kind === 'tool') && step.failure !== undefined;
  return html`<li id="step-${number}" class="step ${step.kind}${failed ? ' failed' : ''}"><div class="head"><a class="no" href="#step-${number}" aria-label="Step ${number}">${number}</a><h3>${titleOf(step)}</h3><p class="facts">${factsOf(step).join(' · ')}</p></div>
${contentOf(step)}</li>
`;
}

function titleOf(step: Step): string {
  if (step.kind === 'tool') return step.name;
  return { system: 'Instructions', user: 'User', notice: 'Orchestrator', model: 'Model' }[step.kind];
}

function factsOf(step: Step): string[] {
  if (step.kind !== 'model' && step.kind !== 'tool') return [];
  const first =
    step.kind === 'model'
      ? [step.model, turnWords(step), step.finishReason]
      : [step.failure === undefined ? '' : 'failed'];
  return [...first, ...stepFigures(step)].filter((fact) => fact !== undefined && fact !== '') as string[];
}

function contentOf(step: Step): Html {
  if (step.kind === 'model') {
    const calls = step.calls.map(
      (call) =>
        html`<div class="call"><p><span class="arrow" aria-hidden="true">→</span> calls <b>${call.name}</b></p>${valueBlock(call.arguments, 'json')}</div>`,
    );
    const thought =
      step.reasoning === ''
        ? ''
        : html`<details class="reasoning"><summary>Reasoning</summary>${textBlock(step.reasoning, 'prose')}</details>`;
    return html`${thought}${textBlock(step.text, 'prose')}${calls}${textBlock(step.failure ?? '', 'bad')}`;
  }
  if (step.kind === 'tool') {
    const recovery = step.recovery === undefined ? '' : html`<p class="recovery">Then: ${step.recovery}</p>`;
    return html`<p class="part">Arguments</p>${valueBlock(step.arguments ?? {}, 'json')}<p class="part">${step.failure === undefined ? 'Result' : 'Error'}</p>${textBlock(step.failure ?? step.result, step.failure === undefined ? 'json' : 'bad')}${recovery}`;
  }
  return textBlock(step.text, 'prose');
}

function day(iso: string): string {
  return iso.slice(0, 10);
}

type TimedStep = ModelStep | ToolStep;

/** Maximum of rows. */
const MAX_ROWS = 200;
/** Width of the bar's coordinate system, which is stretched to the column. */
const SPAN = 1000;
/** Shorter bars would be invisible. */
const MIN_BAR = 4;

/** A timeline of time and tokens, with a row for each model and tool step. */
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
