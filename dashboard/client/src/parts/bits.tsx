/** Small parts that every screen uses. */
import { type ReactNode, useEffect, useRef } from 'react';
import { RequestError } from '../base/api.ts';
import type { Tone } from '../base/fleet.ts';

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }): ReactNode {
  return (
    <span className={`badge ${tone}`}>
      <span className="dot" aria-hidden="true" />
      {children}
    </span>
  );
}

export function Panel(props: {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
}): ReactNode {
  return (
    <section className={`panel ${props.className ?? ''}`} aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }): ReactNode {
  return (
    <div className="empty">
      <strong>{title}</strong>
      <div>{children}</div>
    </div>
  );
}

/** An error with what helps. */
export function Trouble({ error, what }: { readonly error: unknown; readonly what: string }): ReactNode {
  const message = error instanceof Error ? error.message : String(error);
  const cure = error instanceof RequestError ? error.failure.cure : undefined;
  return (
    <div className="trouble" role="alert">
      <strong>{what}</strong> {message}
      {cure !== undefined && <div className="cure">{cure}.</div>}
    </div>
  );
}

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A question before what cannot be taken back. The focus stays inside, Escape leaves it. */
export function Confirm(props: {
  readonly title: string;
  readonly action: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** Error for which it was not done. */
  readonly error?: unknown;
  readonly onYes: () => void;
  readonly onNo: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={props.title} onClose={props.onNo}>
      <h2>{props.title}</h2>
      <div className="dialog-body">
        {props.children}
        {props.error !== undefined && <Trouble what="That did not work:" error={props.error} />}
      </div>
      <div className="buttons">
        <button type="button" onClick={props.onNo}>
          Leave it as it is
        </button>
        <button type="button" className={props.danger === true ? 'danger' : 'primary'} disabled={props.disabled} onClick={props.onYes}>
          {props.action}
        </button>
      </div>
    </dialog>
  );
}

export function Tabs<T extends string>(props: {
  readonly label: string;
  readonly tabs: readonly { readonly id: T; readonly name: string; readonly count?: number }[];
  readonly active: T;
  readonly onChange: (id: T) => void;
}): ReactNode {
  // On a phone the tabs are wider than the window.
  useEffect(() => {
    document.getElementById(`tab-${props.active}`)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [props.active]);
  const move = (by: number): void => {
    const at = props.tabs.findIndex(({ id }) => id === props.active);
    const next = props.tabs[(at + by + props.tabs.length) % props.tabs.length];
    if (next === undefined) return;
    props.onChange(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <div
      className="tabs"
      role="tablist"
      aria-label={props.label}
      onKeyDown={({ key }) => {
        if (key === 'ArrowRight') move(1);
        if (key === 'ArrowLeft') move(-1);
      }}
    >
      {props.tabs.map(({ id, name, count }) => (
        <button
          key={id}
          id={`tab-${id}`}
          type="button"
          role="tab"
          aria-selected={id === props.active}
          tabIndex={id === props.active ? 0 : -1}
          onClick={() => props.onChange(id)}
        >
          {name}
          {count !== undefined && <span className="count">{count}</span>}
        </button>
      ))}
    </div>
  );
}
