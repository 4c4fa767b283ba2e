import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Rows drawn above and below those in view. */
const MARGIN_ROWS = 12;

interface VirtualRowsProps {
  readonly count: number;
  readonly rowPx: number;
  readonly row: (index: number) => ComponentChildren;
}

/** Rows of one height, of which only those in view are in the document, however many there are. */
export function VirtualRows({ count, rowPx, row }: VirtualRowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ first: 0, last: 60 });
  useEffect(() => {
    const measure = () => {
      const top = box.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / rowPx) - MARGIN_ROWS);
      const last = first + Math.ceil(innerHeight / rowPx) + 2 * MARGIN_ROWS;
      setRange((before) => (before.first === first && before.last === last ? before : { first, last }));
    };
    measure();
    addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => {
      removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  }, [rowPx]);
  const first = Math.min(range.first, Math.max(0, count - 1));
  const shown = Array.from({ length: Math.max(0, Math.min(count, range.last) - first) }, (_, i) => first + i);
  return (
    <div
      ref={(element) => {
        box.current = element;
        if (element) element.style.height = `${count * rowPx}px`;
      }}
    >
      <div
        ref={(element) => {
          if (element) element.style.transform = `translateY(${first * rowPx}px)`;
        }}
      >
        {shown.map(row)}
      </div>
    </div>
  );
}
