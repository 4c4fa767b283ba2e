import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount, formatCounted, type Said, type SaidPart } from '../../runs/index.ts';
import { useData } from './data.ts';
import { Markdown } from './markdown.tsx';
import { CopyButton, Icon } from './parts.tsx';
import { Payload } from './payload.tsx';

/** Switches content on. */
export const CAPTURE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true';

/** In place of texts that are not stored. */
export function ContentIsOff() {
  return (
    <p class="note off">
      <Icon name="unsupported" class="dim" />
      <span>
        The text of this run is not stored: you see structure, sizes and outcomes. Switch it on with{' '}
        <code>{CAPTURE}</code> in the program and <code>--capture-content</code> here.
      </span>
      <CopyButton text={CAPTURE} label="Copy the setting" />
    </p>
  );
}

/** Texts that are longer are folded. */
const FOLD_CHARS = 1500;

/** A text of which the beginning is shown until somebody wants all of it. */
export function Folded({ chars, children }: { chars: number; children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  if (chars <= FOLD_CHARS) return <>{children}</>;
  return (
    <>
      <div class={isOpen ? '' : 'clamp'}>{children}</div>
      <button type="button" class="lnk" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Show less' : `Show all ${formatCount(chars)} characters`}
      </button>
    </>
  );
}

const ROLES: Readonly<Record<SaidPart['role'], string>> = {
  system: 'System prompt',
  developer: 'Developer',
  user: 'User',
  assistant: 'Assistant',
  tool: 'Tool',
  output: 'Answer',
  offered: 'Offered',
};

function formatTitle({ role, kind, name }: SaidPart): string {
  if (kind === 'tool_call') return `${role === 'output' ? 'Calls' : 'Called'} ${name ?? 'a tool'}`;
  if (kind === 'tool_call_response') return `Result of ${name ?? 'a tool'}`;
  return kind === 'reasoning' ? 'Thinking' : ROLES[role];
}

/** A call as the model saw it: what it was told by whom, images, the tools that it was offered, what it answered. */
export function ModelCallTexts({ runId, spanId }: { runId: string; spanId: string }) {
  const { data, error } = useData<Said>(`/api/runs/${runId}/spans/${spanId}/said`, 'once');
  if (error !== undefined) return <p class="neg">{error.message}</p>;
  const {
    messages = [],
    tools = [],
    images = [],
    imagesElsewhere = [],
  } = data?.spanId === spanId ? data : {};
  return (
    <>
      {images.map((url, i) => (
        <img key={i} class="pic" src={url} alt={`Number ${i + 1} of ${images.length} in its messages`} />
      ))}
      {imagesElsewhere.map((url) => (
        <p key={url} class="sub">
          An image elsewhere, not loaded: <span class="mono">{url}</span>
        </p>
      ))}
      {messages.map((part, i) => (
        <section key={i} class={`part p-${part.role}`}>
          <h3>
            {formatTitle(part)}
            {part.chars !== undefined && (
              <span class="sub">
                {' '}
                the first {formatCount(part.text.length)} of {formatCount(part.chars)} characters
              </span>
            )}
          </h3>
          <Folded chars={part.text.length}>
            {part.role === 'output' && part.kind === 'text' ? (
              <Markdown text={part.text} />
            ) : (
              <pre class="code">
                {part.text === '' ? <span class="dim">empty</span> : <Payload text={part.text} />}
              </pre>
            )}
          </Folded>
        </section>
      ))}
      {tools.length > 0 && (
        <details>
          <summary>{formatCounted(tools.length, 'tool')} offered</summary>
          {tools.map(({ name, text }, i) => (
            <section key={i} class="part">
              <h3 class="mono">{name}</h3>
              <Folded chars={text.length}>
                <pre class="code">
                  <Payload text={text} />
                </pre>
              </Folded>
            </section>
          ))}
        </details>
      )}
    </>
  );
}
