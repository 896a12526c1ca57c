/** Hooks that several screens use: the time, what is loaded, what a person does, the parameters of the address. */
import { useCallback, useEffect, useMemo, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { RequestError } from './api.ts';

/** The time, so often that ages stay true. */
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), everyMs);
    return () => window.clearInterval(timer);
  }, [everyMs]);
  return now;
}

interface Load<T> {
  readonly key: string;
  readonly value?: T;
  /** Time of arrival of the value, ms since the epoch. */
  readonly at?: number;
  /** Error for which it could not be loaded since then. */
  readonly error?: unknown;
}

export interface Loaded<T> extends Omit<Load<T>, 'key'> {
  readonly again: () => void;
}

/** Returns the state after an error: no value where it is gone or may not be read any more, else the value from before. Pure. */
export function afterError<T>(before: Load<T>, key: string, error: unknown): Load<T> {
  const isGone = error instanceof RequestError && (error.status === 403 || error.status === 404);
  return isGone || before.key !== key ? { key, error } : { ...before, error };
}

/** Loads what `key` names, anew with each `version` and when asked; what was there stays meanwhile. */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>, version = ''): Loaded<T> {
  const [state, setState] = useState<Load<T>>({ key });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    load(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setState({ key, value, at: Date.now() });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setState((before) => afterError(before, key, error));
      },
    );
    return () => abort.abort();
    // `key` names what `load` loads.
  }, [key, version, turn]);
  const again = useCallback(() => setTurn((before) => before + 1), []);
  return { ...(state.key === key ? state : {}), again };
}

/** An act of a person: while it is done, what it led to, and what went wrong. */
export function useAct(onDone: () => void): {
  readonly busy: boolean;
  readonly error: unknown;
  readonly said: string;
  readonly act: (what: () => Promise<unknown>, said: string) => void;
  /** Forgets what came of the last one. */
  readonly clear: () => void;
} {
  const [state, setState] = useState<{ readonly busy: boolean; readonly error?: unknown; readonly said: string }>({
    busy: false,
    said: '',
  });
  const act = useCallback(
    (what: () => Promise<unknown>, said: string) => {
      setState({ busy: true, said: '' });
      what().then(
        () => {
          setState({ busy: false, said });
          onDone();
        },
        (error: unknown) => setState({ busy: false, error, said: '' }),
      );
    },
    [onDone],
  );
  const clear = useCallback(() => setState({ busy: false, said: '' }), []);
  return { busy: state.busy, error: state.error, said: state.said, act, clear };
}

/** Parameters of the address, and how to change them: empty values leave it, and the history gets no entry for each letter. */
export function useParams(): readonly [URLSearchParams, (changes: Readonly<Record<string, string>>) => void] {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const params = useMemo(() => new URLSearchParams(search), [search]);
  const change = useCallback(
    (changes: Readonly<Record<string, string>>) => {
      const next = new URLSearchParams(search);
      for (const [name, value] of Object.entries(changes)) {
        if (value === '') next.delete(name);
        else next.set(name, value);
      }
      const text = next.toString();
      navigate(text === '' ? path : `${path}?${text}`, { replace: true });
    },
    [search, path, navigate],
  );
  return [params, change];
}
