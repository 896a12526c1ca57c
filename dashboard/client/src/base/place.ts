/** State that belongs to the browser: the user who is logged in, the namespaces that are followed, the colours. */
import { createContext, useContext } from 'react';
import type { Session } from '../../../src/base/wire.ts';

/** Session of the user who is logged in; screens are shown to no other user. */
export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('a screen was drawn before the login');
  return session;
}

const scopeKey = 'agentfleet.namespaces';

const namesOf = (text: string): readonly string[] =>
  text
    .split(/[\s,]+/)
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** Returns the value that the browser has stored; empty: none, or it stores nothing. */
function kept(key: string): string {
  try {
    return window.localStorage.getItem(key) ?? '';
  } catch {
    return '';
  }
}

/** In a browser that keeps nothing it holds until the page is loaded again. */
function keep(key: string, text: string): void {
  try {
    window.localStorage.setItem(key, text);
  } catch {
    // So it is.
  }
}

/** Returns the followed namespaces: of the address, so that a link shows the same; else those of last time. Empty: none was named. */
export function scopeOf(search: string): readonly string[] {
  return namesOf(new URLSearchParams(search).get('in') ?? kept(scopeKey));
}

/** Remembers the namespaces and loads the page with them, so that nothing of others stays. */
export function follow(text: string): void {
  const names = namesOf(text).join(',');
  // A browser that keeps nothing gets them by the address alone.
  keep(scopeKey, names);
  const search = new URLSearchParams(window.location.search);
  if (names === '') search.delete('in');
  else search.set('in', names);
  const rest = search.toString();
  window.location.assign(`${window.location.pathname}${rest === '' ? '' : `?${rest}`}`);
}

/** Dark, light, or as the system has it; kept in the browser. */
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];
const themeKey = 'agentfleet.theme';

export function themeNow(): Theme {
  const name = kept(themeKey);
  return themes.find((theme) => theme === name) ?? 'system';
}

export function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  keep(themeKey, theme);
}
