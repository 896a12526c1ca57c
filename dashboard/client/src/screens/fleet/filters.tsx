import { type ReactNode, useEffect, useMemo, useRef } from 'react';
import type { TaskRow } from '../../../../src/base/wire.ts';
import { type Filter, phases, type PoolOf, type Summary, tones } from '../../base/fleet.ts';

type Change = (changes: Readonly<Record<string, string>>) => void;

function Choice(props: {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly values: readonly (readonly [value: string, text: string])[];
  readonly onChange: Change;
}): ReactNode {
  if (props.values.length === 0 && props.value === '') return null;
  const known = props.value === '' || props.values.some(([value]) => value === props.value);
  return (
    <select aria-label={props.label} value={props.value} onChange={({ target }) => props.onChange({ [props.name]: target.value })}>
      <option value="">{props.label}: all</option>
      {!known && <option value={props.value}>{props.value}</option>}
      {props.values.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

const named = (values: readonly (string | undefined)[]): readonly (readonly [string, string])[] =>
  [...new Set(values)].flatMap((value) => (value === undefined ? [] : [[value, value] as const])).sort(([a], [b]) => (a < b ? -1 : 1));

/** `/` leads to the search, wherever one is, unless one is writing. */
function useSlash(): React.RefObject<HTMLInputElement | null> {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const writes = event.target instanceof HTMLElement && /^(?:input|textarea|select)$/i.test(event.target.tagName);
      if (event.key !== '/' || writes || event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      input.current?.focus();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  return input;
}

export function Filters(props: {
  readonly all: readonly TaskRow[];
  readonly poolOf: PoolOf;
  readonly summary: Summary;
  readonly filter: Filter;
  readonly shown: number;
  readonly onChange: Change;
}): ReactNode {
  const { all, poolOf, summary, filter, shown, onChange } = props;
  const search = useSlash();
  const namespaces = useMemo(() => named(all.map(({ namespace }) => namespace)), [all]);
  const pools = useMemo(() => named(all.map(poolOf)), [all, poolOf]);
  const classes = [...summary.byClass].sort(([, a], [, b]) => b - a).map(([name, count]) => [name, `${name} (${count})`] as const);
  return (
    <search className="filters">
      <div className="chips" role="group" aria-label="Phases">
        <button type="button" aria-pressed={filter.phase === ''} onClick={() => onChange({ phase: '' })}>
          All <span className="count">{all.length.toLocaleString('en')}</span>
        </button>
        {phases
          .filter((phase) => summary.byPhase.has(phase) || filter.phase === phase)
          .map((phase) => (
            <button
              key={phase}
              type="button"
              className={tones[phase]}
              aria-pressed={filter.phase === phase}
              onClick={() => onChange({ phase: filter.phase === phase ? '' : phase })}
            >
              <span className="dot" aria-hidden="true" />
              {phase} <span className="count">{(summary.byPhase.get(phase) ?? 0).toLocaleString('en')}</span>
            </button>
          ))}
      </div>
      <div className="row">
        <input
          ref={search}
          type="search"
          aria-label="Search names and goals"
          placeholder="Search names and goals  ( / )"
          value={filter.q}
          onChange={({ target }) => onChange({ q: target.value })}
        />
        <Choice name="class" label="Failure" value={filter.failure} values={classes} onChange={onChange} />
        <Choice name="ns" label="Namespace" value={filter.ns} values={namespaces} onChange={onChange} />
        <Choice name="pool" label="Pool" value={filter.pool} values={pools} onChange={onChange} />
        <select aria-label="Order" value={filter.sort} onChange={({ target }) => onChange({ sort: target.value })}>
          <option value="">Needs a person first</option>
          <option value="newest">Newest first</option>
          <option value="cost">Most spent first</option>
          <option value="name">By name</option>
        </select>
        {shown !== all.length && (
          <span className="muted small" role="status">
            {shown.toLocaleString('en')} shown
          </span>
        )}
      </div>
    </search>
  );
}
