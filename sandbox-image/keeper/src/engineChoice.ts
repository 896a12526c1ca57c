import type { Config } from './config.ts';

/** The engine that takes this keeper's snapshots, and why it is that one. */
export interface EngineChoice {
  readonly asked: Config['snapshotEngine'];
  readonly engine: 'CAS' | 'Overlay';
  readonly why: string;
}

/** `Auto` never takes a right that a pool has not asked for; clones of files are no engine (ADR 12). */
export function chooseEngine({ snapshotEngine: asked, overlay }: Pick<Config, 'snapshotEngine' | 'overlay'>): EngineChoice {
  if (asked === 'Overlay' && overlay !== null) return { asked, engine: 'Overlay', why: 'the pool asks for it, and `runner mount` mounts' };
  if (asked === 'CAS') return { asked, engine: 'CAS', why: 'the pool asks for it' };
  return { asked, engine: 'CAS', why: 'the fastest that needs no right; Overlay would be faster, and the pool has to ask for it' };
}
