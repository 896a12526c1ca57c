// agent-image, rails/shell: relation of a path to workspace, home and system. May import rails/verdict and rails/syntax, no rail.
import { hasGlob, hole, question, star, hasHole } from './marks.ts';
import { posix } from 'node:path';

/** A path as the shell would resolve it from a folder; a hole in either stays one. */
export function absolute(path: string, cwd: string): string {
  const slashed = path.replace(/\/{2,}/g, '/');
  if (slashed.startsWith('/')) return posix.normalize(slashed).replace(/(.)\/$/, '$1');
  if (hasHole(cwd)) return `${hole}/${slashed}`;
  return posix.normalize(`${cwd}/${slashed}`).replace(/(.)\/$/, '$1');
}

/** Relation of a path to the task. */
export type Place =
  /** `/`, or everything in it. */
  | 'root'
  | 'system'
  | 'home'
  /** A folder that holds a root. */
  | 'above'
  /** A root itself, or everything in it. */
  | 'workspace'
  | 'inside'
  /** Below `/tmp` and the like; not covered by snapshots. */
  | 'scratch'
  /** `/dev/null` and other sinks. */
  | 'sink'
  | 'outside'
  | 'unknown';

export interface Places {
  readonly roots: readonly string[];
  readonly home: string;
}

const systemFolder =
  /^\/(?:bin|boot|dev|etc|lib|lib32|lib64|libx32|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|home|System|Library|Applications|Users|Volumes|nix|snap)$/;
const sink = /^\/(?:dev\/(?:null|stdout|stderr|stdin|tty|full|fd\/\d+|random|urandom|zero)|proc\/self\/fd\/\d+)$/;
const everything = new RegExp(
  `^\\.?[${star}${question}]*${star}[${star}${question}]*$|^\\.\\[.*${star}$|^\\.\uE003.*${star}$|^\\.${question}+${star}?$`,
);

/** Returns the place that a word leads to from a folder; globs are taken as what they may name at worst. */
export function placeOf(text: string, cwd: string, places: Places): Place {
  // A hole may begin with a slash.
  if (text === '' || text.startsWith(hole)) return 'unknown';
  const path = absolute(text, cwd);
  const parts = path.split('/');
  const glob = parts.findIndex((part) => hasGlob(part));
  const gap = parts.findIndex((part) => part.includes(hole));
  if (gap >= 0 && (glob < 0 || gap <= glob)) return beforeHole(parts.slice(0, gap).join('/'), places);
  if (glob < 0) return classify(path, places);
  const parent = parts.slice(0, glob).join('/') || '/';
  const folder = classify(parent, places);
  if (parent === '/') return 'root';
  if (folder === 'home' || folder === 'above') return folder;
  if (everything.test(parts[glob] as string) && glob === parts.length - 1) return folder;
  return folder === 'workspace' ? 'inside' : folder === 'system' && parent === '/tmp' ? 'scratch' : folder;
}

/** A hole in a folder of the workspace is taken to stay there: the sandbox's own wall is behind this. */
function beforeHole(parent: string, places: Places): Place {
  if (parent === '') return 'system';
  const place = classify(parent, places);
  if (place === 'home' || place === 'outside' || (place === 'system' && parent !== '/tmp')) return place;
  if (place === 'inside' || place === 'workspace') return 'inside';
  return parent === '/tmp' || place === 'scratch' ? 'scratch' : 'unknown';
}

function classify(path: string, { roots, home }: Places): Place {
  if (path === '/') return 'root';
  if (roots.includes(path)) return 'workspace';
  if (roots.some((root) => root.startsWith(`${path}/`))) return 'above';
  if (roots.some((root) => path.startsWith(`${root}/`))) return 'inside';
  if (path === home || home.startsWith(`${path}/`) || /^\/(?:root|home\/[^/]+|home)$/.test(path)) return 'home';
  if (sink.test(path)) return 'sink';
  if (/^\/(?:tmp|var\/tmp|dev\/shm)\/./.test(path)) return 'scratch';
  if (systemFolder.test(`/${path.split('/')[1]}`)) return 'system';
  return 'outside';
}
