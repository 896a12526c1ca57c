import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, memo, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { TaskRow } from '../../../../src/base/wire.ts';
import { isOver, tones } from '../../base/fleet.ts';
import { ago, money, percent, short, span } from '../../base/text.ts';
import { Badge } from '../../parts/bits.tsx';
import { Meter } from '../../parts/charts.tsx';
import { plain } from '../../parts/output.tsx';

const height = 60;

function timeOf({ started, ended, created, queuedSince }: TaskRow, now: number): string {
  if (ended !== undefined && started !== undefined) return span(ended - started);
  if (queuedSince !== undefined) return `queued ${ago(queuedSince, now)}`;
  return ago(started ?? created, now);
}

/** Returns the current activity of a task, or the way it ended, in words. */
function doing(row: TaskRow): string {
  if (row.waits !== undefined) return row.waits.summary;
  if (row.stuck !== undefined) return `${row.stuck.reason}: ${row.stuck.message}`;
  if (row.phase === 'Failed') return row.failure === undefined ? (row.reason ?? '') : `${row.failure}: ${row.reason ?? ''}`;
  return isOver(row) ? '' : (row.message ?? '');
}

function Spent({ row }: { readonly row: TaskRow }): ReactNode {
  const share = row.budgetTokens === undefined ? 0 : row.tokens / row.budgetTokens;
  return (
    <>
      <span>{row.cost === undefined ? `${short(row.tokens)} tok` : money(Number(row.cost))}</span>
      {row.budgetTokens !== undefined && (
        <Meter value={share} tone={share > 0.9 ? 'bad' : share > 0.7 ? 'wait' : 'idle'} label={`${percent(share)} of the token budget`} />
      )}
    </>
  );
}

/** A line of the list. Times come as text, so that a line is drawn anew only when what it shows changed. */
const Line = memo(function Line(props: {
  readonly row: TaskRow;
  readonly time: string;
  readonly index: number;
  readonly top: number;
  readonly active: boolean;
}) {
  const { row, time, index, top, active } = props;
  return (
    <div role="row" aria-rowindex={index + 2} className="line" data-active={active} style={{ transform: `translateY(${top}px)`, height }}>
      <span role="cell" className="phase">
        <Badge tone={tones[row.phase]}>{row.phase}</Badge>
      </span>
      <span role="cell" className="name">
        <Link href={`/tasks/${row.key}`} id={`row-${index}`} className="title">
          {row.name} <span className="muted ns">{row.namespace}</span>
        </Link>
        <span className="goal">{plain(row.goal)}</span>
      </span>
      <span role="cell" className="doing">
        {plain(doing(row))}
      </span>
      <span role="cell" className="progress">
        {row.total !== undefined && row.total > 0 && !isOver(row) && (
          <>
            <span>
              {row.done ?? 0}/{row.total}
            </span>
            <Meter value={(row.done ?? 0) / row.total} label={`${row.done ?? 0} of ${row.total} steps`} />
          </>
        )}
      </span>
      <span role="cell" className="spent">
        <Spent row={row} />
      </span>
      <span role="cell" className="time">
        {time}
      </span>
    </div>
  );
});

/** The list; only the lines in sight are drawn. Arrows or j and k go from line to line. */
export function TaskList({ rows, now }: { readonly rows: readonly TaskRow[]; readonly now: number }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  const [active, setActive] = useState(-1);
  useLayoutEffect(() => {
    const top = (box.current?.getBoundingClientRect().top ?? 0) + window.scrollY;
    if (Math.abs(top - margin) > 1) setMargin(top);
  });
  const virtual = useWindowVirtualizer({ count: rows.length, estimateSize: () => height, overscan: 8, scrollMargin: margin });
  const onKey = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(rows.length - 1, active + by));
    setActive(next);
    virtual.scrollToIndex(next, { align: 'auto' });
    window.requestAnimationFrame(() => document.getElementById(`row-${next}`)?.focus({ preventScroll: true }));
  };
  return (
    <div className="list" role="table" aria-label="Tasks" aria-rowcount={rows.length + 1} onKeyDown={onKey}>
      <div role="rowgroup" className="head">
        <div role="row" aria-rowindex={1}>
          {['Phase', 'Task', 'What happens', 'Steps', 'Spent', 'Time'].map((name) => (
            <span key={name} role="columnheader">
              {name}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" ref={box} className="body" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return <Line key={row.key} row={row} index={index} top={start - margin} time={timeOf(row, now)} active={index === active} />;
        })}
      </div>
    </div>
  );
}
