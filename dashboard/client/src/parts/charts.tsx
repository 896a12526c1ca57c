/** Small charts as plain SVG; each has its figures as text for who does not see it. */
import type { ReactNode } from 'react';
import type { Tone } from '../base/fleet.ts';
import { percent, wilson } from '../base/text.ts';

export function Meter({ value, label, tone = 'run' }: { readonly value: number; readonly label: string; readonly tone?: Tone }): ReactNode {
  const share = Math.max(0, Math.min(1, Number.isFinite(value) ? value : 0));
  return (
    <svg className={`meter ${tone}`} role="img" aria-label={label} viewBox="0 0 100 6" preserveAspectRatio="none">
      <rect className="track" width="100" height="6" rx="1" />
      <rect className="fill" width={share * 100} height="6" rx="1" />
    </svg>
  );
}

/** A share with its bounds at 95 %. */
export function WilsonBar({ hits, trials, what }: { readonly hits: number; readonly trials: number; readonly what: string }): ReactNode {
  const [low, high] = wilson(hits, trials);
  const share = trials === 0 ? 0 : hits / trials;
  const label =
    trials === 0 ? `${what}: nothing yet` : `${what}: ${percent(share)} of ${trials}, 95 % between ${percent(low)} and ${percent(high)}`;
  return (
    <svg className="wilson" role="img" aria-label={label} viewBox="0 0 100 10" preserveAspectRatio="none">
      <rect className="track" y="3" width="100" height="4" rx="1" />
      {trials > 0 && (
        <>
          <rect className="bounds" x={low * 100} y="2" width={Math.max(0.5, (high - low) * 100)} height="6" rx="1" />
          <rect className="point" x={Math.min(99, share * 100)} y="0" width="1" height="10" />
        </>
      )}
    </svg>
  );
}

/** Counts side by side. */
export function Bars(props: { readonly counts: readonly number[]; readonly label: string; readonly over?: readonly number[] }): ReactNode {
  const most = Math.max(1, ...props.counts, ...(props.over ?? []));
  const width = 100 / Math.max(1, props.counts.length);
  const bar = (count: number, at: number, name: string, from: number, share: number): ReactNode => (
    <rect
      key={`${name}${at}`}
      className={name}
      x={at * width + width * from}
      y={40 - (count / most) * 38}
      width={width * share}
      height={(count / most) * 38}
    />
  );
  const two = props.over !== undefined;
  return (
    <svg className="bars" role="img" aria-label={props.label} viewBox="0 0 100 40" preserveAspectRatio="none">
      <line x1="0" x2="100" y1="40" y2="40" className="axis" />
      {props.counts.map((count, at) => bar(count, at, 'one', 0.1, two ? 0.38 : 0.8))}
      {props.over?.map((count, at) => bar(count, at, 'two', 0.52, 0.38))}
    </svg>
  );
}

export interface Share {
  readonly name: string;
  readonly value: number;
  readonly tone: string;
}

/** Parts of a whole, one beside the other. `total` may be more than their sum. */
export function Stack({
  parts,
  total,
  label,
}: {
  readonly parts: readonly Share[];
  readonly total: number;
  readonly label: string;
}): ReactNode {
  let from = 0;
  return (
    <svg className="stack" role="img" aria-label={label} viewBox="0 0 100 8" preserveAspectRatio="none">
      <rect className="track" width="100" height="8" />
      {parts.map(({ name, value, tone }) => {
        const width = total === 0 ? 0 : (value / total) * 100;
        const at = from;
        from += width;
        return (
          <rect key={name} className={tone} x={at} width={Math.max(0, width - 0.3)} height="8">
            <title>{`${name}: ${value}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

export interface Point {
  readonly said: number;
  readonly hits: number;
  readonly trials: number;
}

/** Draws stated probabilities against observed results: on the diagonal, both are the same. */
export function Reliability({ points, label }: { readonly points: readonly Point[]; readonly label: string }): ReactNode {
  return (
    <svg className="reliability" role="img" aria-label={label} viewBox="-14 -4 120 120">
      <rect className="frame" width="100" height="100" />
      {[25, 50, 75].map((at) => (
        <g key={at} className="grid">
          <line x1={at} x2={at} y1="0" y2="100" />
          <line y1={at} y2={at} x1="0" x2="100" />
        </g>
      ))}
      <line className="ideal" x1="0" y1="100" x2="100" y2="0" />
      {points.map(({ said, hits, trials }) => {
        const [low, high] = wilson(hits, trials);
        return (
          <g key={said}>
            <line className="whisker" x1={said * 100} x2={said * 100} y1={100 - low * 100} y2={100 - high * 100} />
            <circle cx={said * 100} cy={100 - (hits / trials) * 100} r={Math.min(4, 1.5 + Math.log10(trials))} />
          </g>
        );
      })}
      <text x="0" y="108">
        0
      </text>
      <text x="50" y="113" textAnchor="middle">
        probability said
      </text>
      <text x="-5" y="50" textAnchor="middle" transform="rotate(-90 -5 50)">
        share that succeeded
      </text>
      <text x="100" y="108" textAnchor="end">
        1
      </text>
      <text x="-3" y="4" textAnchor="end">
        1
      </text>
      <text x="-3" y="100" textAnchor="end">
        0
      </text>
    </svg>
  );
}
